/* agent_sandbox.c: closes an agent's sandbox in the one order that works, with limits from what its SETUP needs.
 *
 * Order. Capabilities go first, since threads inherit them. The compute thread starts next and gives up the file system itself,
 * because Landlock binds one thread at a time. Then the loop's thread opens what the kernel counts about both, which are files;
 * then it takes its limits, gives up the file system too, and loads the filter, which binds both threads.
 *
 * Limits. Descriptors: two a node, for a connection and one that is still greeting, and 64. Memory: what the process has, 1 GiB
 * for the report, for connections, for what the C library maps for a thread, and for OpenBLAS, and 64 + 8 a node of the longest
 * vector, far above what schemes take: it is to stop a leak and a lie about a length, not to plan memory. Example: 65 nodes and
 * 1 MiB of parameters may take 1 GiB + 584 MiB beyond what they start with. Bytes on the wire: none. */
#include "agents/agent_internal.h"
#include "agents/sandbox.h"
#include "agents/world_emulated.h"

enum { DESCRIPTORS_A_NODE = 2, DESCRIPTORS = 64, VECTORS_A_NODE = 8, VECTORS = 64 };
static const uint64_t BYTES = UINT64_C(1) << 30;

static uint64_t longest_vector_bytes(const struct agent_setup *setup)
{
    uint64_t most = setup->scheme.parameter_count;
    for (uint32_t i = 0; setup->schemes && i < setup->control->size_count; i++)
        if (setup->schemes[i].parameter_count > most)
            most = setup->schemes[i].parameter_count;
    return most * sizeof(float);
}

int agent_close_sandbox(const struct agent_setup *setup, struct agent_node *node, struct host_counters *host, struct err *err)
{
    const struct control_setup *control = setup->control;
    const uint64_t nodes = control->node_count;
    host_counters_open(host);
    if (sandbox_deafen(err) < 0 || sandbox_drop_privileges(err) < 0 || emulated_start_thread(node->emulated, err) < 0)
        return -ERR_HOST;
    host_counters_open_threads(host);
    if (sandbox_limit(DESCRIPTORS_A_NODE * nodes + DESCRIPTORS,
                      BYTES + (VECTORS_A_NODE * nodes + VECTORS) * longest_vector_bytes(setup), err) < 0)
        return -ERR_HOST;
    return sandbox_close_files((uint16_t)control->port, err) < 0 ? -ERR_HOST : sandbox_filter(err);
}

void agent_thread_begins(void *context)
{
    (void)context;
    (void)sandbox_close_files(0, NULL); /* the loop's thread says why it cannot, and ends the agent */
}
