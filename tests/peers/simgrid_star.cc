/* simgrid_star.cc: the same rounds as laggard's virtual world has, simulated by SimGrid (S4U): the peer of `make bench-simgrid`.
 *
 *     simgrid_star ring|ps-sync WORKERS ROUNDS BYTES RATE DELAY_S COMPUTE_S
 *
 * A star: one link each way between every host and a router, RATE in bytes a second, DELAY_S one way, so that a path crosses two.
 * Every worker is an actor on a host of its own and computes COMPUTE_S a round (it sleeps; nothing else is computed).
 *
 * ring: a gradient of BYTES in WORKERS chunks goes around 2 (WORKERS - 1) hops, as in agents/collectives/ring_allreduce.c. Worker w
 *     sends chunk w - hop to its right neighbour, then waits for what its left one sent, not for its own chunk to have come.
 * ps-sync: every worker sends BYTES to the server on one more host, which answers all of them when it has all.
 *
 * SimGrid is as it comes: its default network model (LV08, lazy updates), raw contexts, one thread. Only the actors' stacks are
 * smaller than its 8 MiB, of which 10,000 would not fit. Payloads are not carried: neither does laggard with `gradients: none`.
 *
 * Options of SimGrid's own (--cfg=...) may follow. Prints one line: MESSAGES BYTES ROUND_S, what was received, and simulated
 * seconds a round. */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>
#include <xbt/log.h>

namespace sg4 = simgrid::s4u;

namespace
{

struct Work {
    std::string scheme;
    long workers, rounds;
    uint64_t bytes;
    double rate, delay, compute;
};
struct Received {
    uint64_t messages = 0, bytes = 0;
};

Work work;
Received received;
std::vector<sg4::Mailbox *> mailboxes; /* of workers, then of the server */

/* Payloads are numbers of bytes, as pointers: nothing is allocated for them. */
void *as_payload(uint64_t bytes)
{
    return reinterpret_cast<void *>(bytes);
}

void receive(sg4::Mailbox *mailbox, uint64_t expected)
{
    const auto bytes = reinterpret_cast<uint64_t>(mailbox->get<void>());
    if (bytes != expected)
        throw std::runtime_error(mailbox->get_name() + ": " + std::to_string(bytes) + " bytes instead of " +
                                 std::to_string(expected));
    received.messages++;
    received.bytes += bytes;
}

void send(sg4::Mailbox *mailbox, uint64_t bytes)
{
    mailbox->put_init(as_payload(bytes), bytes)->detach();
}

/* As agents/collectives/allreduce.h cuts floats: the first ranges have one more. */
uint64_t chunk_bytes(long chunk)
{
    const uint64_t floats = work.bytes / 4, parts = (uint64_t)work.workers;
    return 4 * (floats / parts + ((uint64_t)chunk < floats % parts ? 1 : 0));
}

void ring_worker(long worker)
{
    const long n = work.workers;
    for (long round = 0; round < work.rounds; round++) {
        sg4::this_actor::sleep_for(work.compute);
        for (long hop = 0; hop < 2 * (n - 1); hop++) {
            const long mine = (worker - hop + 2 * n) % n;
            send(mailboxes[(size_t)((worker + 1) % n)], chunk_bytes(mine));
            receive(mailboxes[(size_t)worker], chunk_bytes((mine - 1 + n) % n));
        }
    }
}

void server_worker(long worker)
{
    for (long round = 0; round < work.rounds; round++) {
        sg4::this_actor::sleep_for(work.compute);
        send(mailboxes[(size_t)work.workers], work.bytes);
        receive(mailboxes[(size_t)worker], work.bytes);
    }
}

void server()
{
    for (long round = 0; round < work.rounds; round++) {
        for (long worker = 0; worker < work.workers; worker++)
            receive(mailboxes[(size_t)work.workers], work.bytes);
        for (long worker = 0; worker < work.workers; worker++)
            send(mailboxes[(size_t)worker], work.bytes);
    }
}

std::vector<sg4::Host *> make_star(size_t nodes)
{
    std::vector<sg4::Host *> hosts;
    sg4::NetZone *zone = sg4::create_star_zone("star");
    for (size_t i = 0; i < nodes; i++) {
        const std::string name = std::to_string(i);
        sg4::Host *host = zone->create_host("node" + name, 1e9);
        const sg4::SplitDuplexLink *link = zone->create_split_duplex_link("link" + name, work.rate);
        link->get_link_up()->set_latency(work.delay);
        link->get_link_down()->set_latency(work.delay);
        zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {{link, sg4::LinkInRoute::Direction::UP}}, true);
        hosts.push_back(host);
        mailboxes.push_back(sg4::Mailbox::by_name("node" + name));
    }
    zone->seal();
    return hosts;
}

void parse(char **argv)
{
    work.scheme = argv[1];
    work.workers = std::stol(argv[2]);
    work.rounds = std::stol(argv[3]);
    work.bytes = std::stoull(argv[4]);
    work.rate = std::stod(argv[5]);
    work.delay = std::stod(argv[6]);
    work.compute = std::stod(argv[7]);
    if ((work.scheme != "ring" && work.scheme != "ps-sync") || work.workers < 2 || work.rounds < 1 || work.bytes < 4)
        throw std::invalid_argument("no such work");
}

} // namespace

int main(int argc, char **argv)
{
    sg4::Engine engine(&argc, argv);
    xbt_log_control_set("xbt_cfg.thresh:warning");
    sg4::Engine::set_config("contexts/stack-size:64");
    if (argc != 8) {
        std::fprintf(stderr, "usage: simgrid_star ring|ps-sync WORKERS ROUNDS BYTES RATE DELAY_S COMPUTE_S\n");
        return 2;
    }
    try {
        parse(argv);
        const bool ring = work.scheme == "ring";
        const std::vector<sg4::Host *> hosts = make_star((size_t)work.workers + (ring ? 0 : 1));
        /* A mailbox with a receiver lets messages travel before they are asked for, as TCP does. */
        for (long worker = 0; worker < work.workers; worker++)
            mailboxes[(size_t)worker]->set_receiver(
                sg4::Actor::create("worker", hosts[(size_t)worker], ring ? ring_worker : server_worker, worker));
        if (!ring)
            mailboxes.back()->set_receiver(sg4::Actor::create("server", hosts.back(), server));
        engine.run();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "simgrid_star: %s\n", error.what());
        return 1;
    }
    std::printf("%llu %llu %.9g\n", (unsigned long long)received.messages, (unsigned long long)received.bytes,
                sg4::Engine::get_clock() / (double)work.rounds);
    return 0;
}
