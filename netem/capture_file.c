/* capture_file.c: one pcap file with times in nanoseconds.
 *
 * Records gather in a buffer and leave it only by a flush between two of them: a reader, a full disk or the process's end never
 * finds half a record. */
#include "netem/capture_file.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

enum { HEADER_BYTES = 24, RECORD_BYTES = 16, BUFFER_BYTES = 512 << 10 };

struct capture_file {
    pcap_dumper_t *dumper; /* owns the descriptor */
    uint64_t snap_bytes, size_bytes;
    uint64_t count, bytes;                 /* added */
    uint64_t flushed_count, flushed_bytes; /* of them in the file */
    bool truncated, failed;
    char reason[sizeof(((struct packet_summary *)0)->reason)];
    char buffer[BUFFER_BYTES];
};

static void close_dead(pcap_t **pcap)
{
    if (*pcap)
        pcap_close(*pcap);
    *pcap = NULL;
}

struct capture_file *capture_file_new(int fd, uint64_t snap_bytes, uint64_t size_bytes, struct err *err)
{
    cleanup(close_fd) int owned = fd;
    cleanup(free_pointer) struct capture_file *file = calloc(1, sizeof(*file));
    cleanup(close_dead) pcap_t *dead =
        pcap_open_dead_with_tstamp_precision(DLT_EN10MB, (int)snap_bytes, PCAP_TSTAMP_PRECISION_NANO);
    cleanup(close_file) FILE *stream = file && dead ? fdopen(owned, "w") : NULL;
    if (!stream) {
        err_set_errno(err, ERR_HOST, errno, "cannot begin a capture file");
        return NULL;
    }
    steal_fd(&owned);
    setvbuf(stream, file->buffer, _IOFBF, sizeof(file->buffer));
    file->dumper = pcap_dump_fopen(dead, stream);
    if (!file->dumper) {
        err_set(err, ERR_HOST, "cannot begin a capture file: %s", pcap_geterr(dead));
        return NULL;
    }
    steal_pointer(&stream);
    file->snap_bytes = snap_bytes;
    file->size_bytes = size_bytes;
    file->bytes = HEADER_BYTES;
    return steal_pointer(&file);
}

__attribute__((format(printf, 3, 4))) static void end_writing(struct capture_file *file, bool failed, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(file->reason, sizeof(file->reason), format, arguments);
    va_end(arguments);
    file->truncated = true;
    file->failed = failed;
}

void capture_file_flush(struct capture_file *file)
{
    if (file->flushed_bytes == file->bytes)
        return;
    if (pcap_dump_flush(file->dumper) == 0) {
        file->flushed_bytes = file->bytes;
        file->flushed_count = file->count;
        return;
    }
    end_writing(file, true, "writing failed after %llu packets: %s", (unsigned long long)file->flushed_count, strerror(errno));
    /* What was written of the last buffer ends in the middle of a record; what is left of it must not be tried again. */
    FILE *stream = pcap_dump_file(file->dumper);
    __fpurge(stream);
    if (ftruncate(fileno(stream), (off_t)file->flushed_bytes) < 0)
        end_writing(file, true, "writing failed: %s; the last packet in the file is cut", strerror(errno));
    file->bytes = file->flushed_bytes;
    file->count = file->flushed_count;
}

void capture_file_add(struct capture_file *file, int64_t unix_ns, const uint8_t *bytes, size_t captured, size_t length)
{
    if (file->truncated)
        return;
    size_t kept = captured < file->snap_bytes ? captured : (size_t)file->snap_bytes, record = RECORD_BYTES + kept;
    if (file->bytes - file->flushed_bytes + record > BUFFER_BYTES)
        capture_file_flush(file);
    if (file->truncated)
        return;
    if (file->size_bytes > 0 && file->bytes + record > file->size_bytes) {
        end_writing(file, false, "the size limit was reached after %llu packets", (unsigned long long)file->count);
        return;
    }
    const struct pcap_pkthdr header = {
        .ts = {.tv_sec = unix_ns / NS_PER_S, .tv_usec = unix_ns % NS_PER_S}, /* the precision says that these are ns */
        .caplen = (bpf_u_int32)kept,
        .len = (bpf_u_int32)length,
    };
    pcap_dump((u_char *)file->dumper, &header, bytes);
    file->bytes += record;
    file->count++;
}

void capture_file_sum(const struct capture_file *file, struct packet_summary *summary)
{
    summary->written_count = file->count;
    summary->written_bytes = file->bytes;
    summary->truncated = file->truncated;
    summary->failed = file->failed;
    memcpy(summary->reason, file->reason, sizeof(summary->reason));
}

void capture_file_free(struct capture_file *file)
{
    if (!file)
        return;
    capture_file_flush(file);
    pcap_dump_close(file->dumper);
    free(file);
}
