/* tcp_store.h: where Gloo's processes leave their addresses for each other: a map in rank 0, the others ask it over TCP. Gloo's own
 * stores need a folder that is new for each run, or a Redis server. */
#ifndef LAGGARD_TESTS_TCP_STORE_H
#define LAGGARD_TESTS_TCP_STORE_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gloo/rendezvous/store.h>

namespace peers
{

using Bytes = std::vector<char>;

/* Blocks of bytes with their length in front. */
inline void send_all(int fd, const void *bytes, size_t length)
{
    for (const char *p = static_cast<const char *>(bytes); length > 0;) {
        ssize_t sent = send(fd, p, length, MSG_NOSIGNAL);
        if (sent <= 0)
            throw std::runtime_error("the store's connection broke");
        p += sent;
        length -= static_cast<size_t>(sent);
    }
}
inline void send_block(int fd, const char *bytes, size_t length)
{
    const uint32_t size = static_cast<uint32_t>(length);
    send_all(fd, &size, sizeof(size));
    send_all(fd, bytes, length);
}
inline bool receive_all(int fd, void *bytes, size_t length)
{
    return length == 0 || recv(fd, bytes, length, MSG_WAITALL) == static_cast<ssize_t>(length);
}
inline bool receive_block(int fd, Bytes &block)
{
    uint32_t size;
    if (!receive_all(fd, &size, sizeof(size)) || size > 1 << 24)
        return false;
    block.resize(size);
    return receive_all(fd, block.data(), size);
}

/* The map itself. */
class Board
{
  public:
    void set(const std::string &key, const Bytes &value)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        values_[key] = value;
        changed_.notify_all();
    }
    Bytes get(const std::string &key) /* waits until it is there */
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return values_.count(key) > 0; });
        return values_[key];
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, Bytes> values_;
};

class TcpStore : public gloo::rendezvous::Store
{
  public:
    /* host: rank 0's address. Its listening thread lives as long as the process. */
    TcpStore(const std::string &host, uint16_t port, int rank)
    {
        sockaddr_in address = {};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
            throw std::runtime_error("'" + host + "' is no IPv4 address");
        if (rank == 0)
            serve(address);
        else
            join(address);
    }
    ~TcpStore() override
    {
        if (fd_ >= 0)
            close(fd_);
    }

    void set(const std::string &key, const Bytes &value) override
    {
        if (board_)
            board_->set(key, value);
        else
            ask('s', key, value);
    }
    Bytes get(const std::string &key) override
    {
        return board_ ? board_->get(key) : ask('g', key, {});
    }
    void wait(const std::vector<std::string> &keys) override
    {
        for (const std::string &key : keys)
            get(key);
    }

  private:
    static void answer(int fd, std::shared_ptr<Board> board)
    {
        char operation;
        Bytes key, value;
        try {
            while (receive_all(fd, &operation, 1) && receive_block(fd, key) && receive_block(fd, value)) {
                const std::string name(key.begin(), key.end());
                if (operation == 's')
                    board->set(name, value);
                const Bytes found = operation == 'g' ? board->get(name) : Bytes();
                send_block(fd, found.data(), found.size());
            }
        } catch (const std::exception &) { /* that process has ended */
        }
        close(fd);
    }
    void serve(const sockaddr_in &address)
    {
        const int one = 1;
        const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (bind(listener, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) < 0 || listen(listener, 1024) < 0)
            throw std::runtime_error("the store cannot listen");
        board_ = std::make_shared<Board>();
        std::thread([listener, board = board_] {
            for (int fd; (fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;)
                std::thread(answer, fd, board).detach();
        }).detach();
    }
    void join(const sockaddr_in &address)
    {
        for (int tries = 0; tries < 300; tries++) { /* rank 0 may not be there yet */
            fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            if (connect(fd_, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0)
                return;
            close(fd_);
            fd_ = -1;
            usleep(100000);
        }
        throw std::runtime_error("rank 0 does not answer");
    }
    Bytes ask(char operation, const std::string &key, const Bytes &value)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        Bytes found;
        send_all(fd_, &operation, 1);
        send_block(fd_, key.data(), key.size());
        send_block(fd_, value.data(), value.size());
        if (!receive_block(fd_, found))
            throw std::runtime_error("rank 0 has ended");
        return found;
    }

    std::shared_ptr<Board> board_; /* in rank 0 */
    std::mutex mutex_;
    int fd_ = -1;
};

} // namespace peers

#endif
