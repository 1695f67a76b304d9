/* enter.c: asks the warden of another process's fabric to start a program; see enter.h. */
#include "netem/enter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "netem/enter_wire.h"

int enter_connect(const char *name, int *fd, struct err *err)
{
    cleanup(close_fd) int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    struct ucred owner = {0};
    socklen_t owner_bytes = sizeof(owner);
    if (length + 1 > sizeof(address.sun_path))
        return err_set(err, ERR_USAGE, "'%s' is no network's name", name);
    memcpy(address.sun_path + 1, name, length);
    socklen_t address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    if (made < 0 || connect(made, (struct sockaddr *)&address, address_bytes) < 0)
        return err_set_errno(err, errno == ECONNREFUSED ? ERR_USAGE : ERR_HOST, errno,
                             "cannot reach the network %s (has it ended?)", name);
    /* Anybody may take a name. */
    if (getsockopt(made, SOL_SOCKET, SO_PEERCRED, &owner, &owner_bytes) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot find out whose the network %s is", name);
    if (owner.uid != geteuid())
        return err_set(err, ERR_USAGE, "the network %s belongs to another user (number %u)", name, (unsigned)owner.uid);
    *fd = steal_fd(&made);
    return 0;
}

/* Sealed, so that the warden reads what it has checked. */
static int pack_words(const struct enter_program *program, struct enter_header *header, int *fd, struct err *err)
{
    cleanup(text_free) struct text words = {0};
    text_add_bytes(&words, program->node, strlen(program->node) + 1);
    text_add_bytes(&words, program->directory, strlen(program->directory) + 1);
    for (char *const *word = program->arguments; *word; word++, header->argument_count++)
        text_add_bytes(&words, *word, strlen(*word) + 1);
    for (char *const *word = environ; *word; word++, header->environment_count++)
        text_add_bytes(&words, *word, strlen(*word) + 1);
    if (words.length > ENTER_WORDS_BYTES_MAX)
        return err_set(err, ERR_USAGE, "the command and the environment have %zu bytes, allowed are %d", words.length,
                       ENTER_WORDS_BYTES_MAX);
    cleanup(close_fd) int made = memfd_create("laggard-enter", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made < 0 || write(made, words.bytes, words.length) != (ssize_t)words.length ||
        fcntl(made, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot pack the command");
    *fd = steal_fd(&made);
    return 0;
}

static int gone(struct err *err)
{
    return err_set(err, ERR_TRIAL, "the network has ended, and the program with it");
}

static int send_request(int fd, const struct enter_header *header, const int *descriptors, struct err *err)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * ENTER_DESCRIPTORS)];
    } control = {0};
    struct iovec part = {.iov_base = (void *)header, .iov_len = sizeof(*header)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * ENTER_DESCRIPTORS);
    memcpy(CMSG_DATA(rights), descriptors, sizeof(int) * ENTER_DESCRIPTORS);
    if (sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(*header))
        return 0;
    if (errno == EPIPE || errno == ECONNRESET) /* perhaps refused unheard: the answer says so */
        return 0;
    return err_set_errno(err, ERR_HOST, errno, "cannot hand over the command and its streams (are 0, 1 and 2 open?)");
}

static int receive_answer(int fd, struct enter_answer *answer, struct err *err)
{
    ssize_t length;
    do
        length = recv(fd, answer, sizeof(*answer), 0);
    while (length < 0 && errno == EINTR);
    return length == (ssize_t)sizeof(*answer) ? 0 : gone(err);
}

int enter_start(int fd, const struct enter_program *program, struct err *err)
{
    struct enter_header header = {.magic = ENTER_MAGIC,
                                  .version = ENTER_VERSION,
                                  .flags = program->terminal ? ENTER_TERMINAL : 0,
                                  .open_files = program->open_files};
    cleanup(close_fd) int words = -1;
    int result = pack_words(program, &header, &words, err);
    if (result < 0)
        return result;
    const int descriptors[ENTER_DESCRIPTORS] = {words, program->streams[0], program->streams[1], program->streams[2]};
    struct enter_answer answer = {0};
    result = send_request(fd, &header, descriptors, err);
    if (result == 0)
        result = receive_answer(fd, &answer, err);
    if (result < 0 || answer.kind == ENTER_STARTED)
        return result;
    answer.text[ENTER_TEXT_BYTES - 1] = '\0';
    return err_set(err, answer.code > 0 && answer.code < ERR_KIND_COUNT ? (enum err_kind)answer.code : ERR_TRIAL, "%s",
                   answer.text);
}

int enter_signal(int fd, int signal_number, struct err *err)
{
    struct enter_signal packet = {.number = signal_number};
    return send(fd, &packet, sizeof(packet), MSG_NOSIGNAL) == (ssize_t)sizeof(packet) ? 0 : gone(err);
}

int enter_next(int fd, struct process_exit *how, struct err *err)
{
    struct enter_answer answer;
    int result = receive_answer(fd, &answer, err);
    if (result < 0 || answer.kind != ENTER_ENDED)
        return result < 0 ? result : gone(err);
    *how = (struct process_exit){.exited = answer.exited, .status = answer.code};
    return 1;
}
