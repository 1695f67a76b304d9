/* main.c: laggard-agent, one node of a trial. It is started by the controller, which passes its end of the control socket as
 * CONTROL_FD, or asked to fork one a node (base/fork_server.h). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "agents/agent.h"
#include "agents/sandbox.h"
#include "base/err.h"
#include "base/fork_server.h"
#include "schemas/control.h"

static int is_socket(int fd, int wanted)
{
    int type;
    socklen_t length = sizeof(type);
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == wanted;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("laggard-agent %s, control protocol %d\n", LAGGARD_VERSION, CONTROL_VERSION);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], FORK_SERVER_OPTION) == 0 && is_socket(CONTROL_FD, SOCK_SEQPACKET)) {
        sandbox_prepare();
        fork_server_serve(argc, argv);
        argc = 1;
    }
    /* The controller passes the node's name as an argument, for people who read process lists; SETUP is what counts. */
    if (argc > 2 || !is_socket(CONTROL_FD, SOCK_STREAM)) {
        fprintf(stderr, "laggard-agent: this program is started by `laggard run`, one for each node; it has no use by hand\n");
        return 2;
    }
    struct err err = {0};
    return agent_run(CONTROL_FD, &err) < 0 ? 1 : 0;
}
