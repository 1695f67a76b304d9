/* gloo_allreduce.cc: times Gloo's ring all-reduce over TCP; see peer.h. Runs as workload.exec: rank, size and addresses come from
 * LAGGARD_RANK, LAGGARD_SIZE, LAGGARD_ADDRESS and LAGGARD_PEERS; every rank reports its rounds. */
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>

#include "peer.h"
#include "tcp_store.h"

static const uint16_t STORE_PORT = 29500;

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    if (!value) {
        fprintf(stderr, "%s is not set: run this as workload.exec or by laggard exec\n", name);
        exit(2);
    }
    return value;
}

static void run(struct peer *peer)
{
    const std::string peers = variable("LAGGARD_PEERS");
    peers::TcpStore store(peers.substr(0, peers.find(',')), STORE_PORT, peer->rank);
    auto device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(variable("LAGGARD_ADDRESS")));
    auto context = std::make_shared<gloo::rendezvous::Context>(peer->rank, peer->size);
    context->connectFullMesh(store, device);
    gloo::AllreduceOptions options(context);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setInput(peer->mine, peer->count);
    options.setOutput(peer->sum, peer->count);
    options.setReduceFunction(static_cast<void (*)(void *, const void *, const void *, size_t)>(&gloo::sum<float>));
    for (long i = 0; i < peer->iterations; i++) {
        peer_prepare(peer, i);
        gloo::allreduce(options);
        peer_note(peer, i);
    }
}

int main(int argc, char **argv)
{
    struct peer peer;
    const int size = (int)peer_number(variable("LAGGARD_SIZE"), 1, 1000);
    peer_begin(&peer, argc, argv, (int)peer_number(variable("LAGGARD_RANK"), 0, size - 1), size);
    try {
        run(&peer);
    } catch (const std::exception &error) {
        peer_die(&peer, error.what());
    }
    peer_report(&peer);
    peer_end(&peer);
    return 0;
}
