/* Load and limits over real sockets, lean enough not to be what is measured.

   load pages  PORT CONNECTIONS SECONDS TOKEN PATH LIMIT LOW HIGH   GET pages, keep-alive
   load follow PORT CONNECTIONS TOKEN PATH FROM UNTIL              read event streams
   load static FILE                                                answer everything with FILE
   load fanout CONNECTIONS FILE                                    send FILE to all who connect
   load relay CONNECTIONS                                          send each line of stdin to all

   `plain_load.py` says the same in Python, for machines without a compiler. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHUNK (1 << 18)
#define KEPT 1024
#define SILENCE_MS 60000
#define MAX_EVENTS 256

static void die(const char *what) { perror(what); exit(1); }

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void watch(int epoll, int fd, uint32_t events, uint64_t which, int op) {
    struct epoll_event e = {.events = events, .data.u64 = which};
    if (epoll_ctl(epoll, op, fd, &e)) die("epoll_ctl");
}

static int connect_to(int port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to)) die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static int listen_anywhere(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 4096)) die("listen");
    getsockname(fd, (struct sockaddr *)&at, &size);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

static char *read_file(const char *path, size_t *size) {
    int fd = open(path, O_RDONLY);
    struct stat about;
    if (fd < 0 || fstat(fd, &about)) die(path);
    char *data = malloc(about.st_size + 1);
    for (*size = 0; *size < (size_t)about.st_size;) {
        ssize_t n = read(fd, data + *size, about.st_size - *size);
        if (n <= 0) die("read");
        *size += n;
    }
    close(fd);
    return data;
}

static void request(int fd, int port, const char *token, const char *target) {
    char text[2048];
    int n = snprintf(text, sizeof text,
                     "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n\r\n",
                     target, port, token);
    if (send(fd, text, n, MSG_NOSIGNAL) != n) die("send");
}

/* --- pages: one request at a time on each connection --- */

struct getter {
    int fd;
    size_t have, body_left;
    int in_body;
    int64_t asked;
    char head[8192];
};

static struct {
    int port;
    const char *token, *path;
    long limit, low, high;
} wanted;

static void ask(struct getter *g) {
    char target[1024];
    if (wanted.high > wanted.low) {
        long offset = wanted.low + random() % (wanted.high - wanted.low);
        snprintf(target, sizeof target, "%s?offset=%ld&limit=%ld", wanted.path, offset,
                 wanted.limit);
    } else {
        snprintf(target, sizeof target, "%s?offset=%ld&limit=%ld", wanted.path, wanted.low,
                 wanted.limit);
    }
    g->have = g->in_body = 0;
    g->asked = now_ns();
    request(g->fd, wanted.port, wanted.token, target);
}

/* Take what came; 1 if it completed an answer, -1 if that was no good one. */
static int take(struct getter *g, char *data, size_t n) {
    if (!g->in_body) {
        size_t room = sizeof g->head - 1 - g->have, part = n < room ? n : room;
        memcpy(g->head + g->have, data, part);
        g->have += part;
        g->head[g->have] = 0;
        char *end = strstr(g->head, "\r\n\r\n");
        if (!end) return g->have + 1 < sizeof g->head ? 0 : -1;
        char *length = strcasestr(g->head, "\r\ncontent-length:");
        if (strncmp(g->head, "HTTP/1.1 200", 12) || !length || length > end) return -1;
        size_t head = end + 4 - g->head, before = g->have - part;
        g->body_left = strtoul(length + 17, NULL, 10);
        g->in_body = 1;
        n -= head - before;
    }
    if (n > g->body_left) return -1;
    g->body_left -= n;
    return g->body_left == 0;
}

static int pages(char **a) {
    int count = atoi(a[1]), epoll = epoll_create1(0);
    int64_t for_ns = (int64_t)(atof(a[2]) * 1e9), bytes = 0, room = 1 << 22, done = 0;
    int64_t *times = malloc(room * sizeof *times);
    char *data = malloc(CHUNK);
    struct getter *getters = calloc(count, sizeof *getters);
    wanted.port = atoi(a[0]);
    wanted.token = a[3];
    wanted.path = a[4];
    wanted.limit = atol(a[5]), wanted.low = atol(a[6]), wanted.high = atol(a[7]);
    for (int i = 0; i < count; i++) {
        getters[i].fd = connect_to(wanted.port);
        watch(epoll, getters[i].fd, EPOLLIN, i, EPOLL_CTL_ADD);
        ask(&getters[i]);
    }
    int64_t start = now_ns(), at = start;
    while (at - start < for_ns) {
        struct epoll_event ready[MAX_EVENTS];
        int n = epoll_wait(epoll, ready, MAX_EVENTS, 1000);
        at = now_ns();
        for (int i = 0; i < n; i++) {
            struct getter *g = &getters[ready[i].data.u64];
            ssize_t got = recv(g->fd, data, CHUNK, 0);
            if (got <= 0) die("recv");
            bytes += got;
            int answer = take(g, data, got);
            if (answer < 0) {
                fprintf(stderr, "not a good answer: %.300s\n", g->head);
                return 1;
            }
            if (answer) {
                if (done < room) times[done] = now_ns() - g->asked;
                done++;
                ask(g);
            }
        }
    }
    int64_t kept = done < room ? done : room;
    qsort(times, kept, sizeof *times, by_size);
    printf("{\"requests\":%ld,\"bytes\":%ld,\"seconds\":%.6f,\"p50_ms\":%.4f,\"p99_ms\":%.4f}\n",
           done, bytes, (at - start) / 1e9, kept ? times[kept / 2] / 1e6 : 0,
           kept ? times[kept * 99 / 100] / 1e6 : 0);
    return 0;
}

/* --- follow: event streams, line by line, each sequence checked --- */

struct reader {
    int fd, alive, done;
    int64_t last;
    size_t line; /* bytes of the line so far */
    char kept[KEPT + 1];
};

static struct {
    int64_t from, until, events, lost, bytes, first_ns, last_ns, *delays, delay_count, delay_room;
    int alive, done;
} seen;

static void note_delay(struct reader *r, int64_t at) {
    char *mark = memmem(r->kept, strlen(r->kept), "\":\"@", 4);
    if (!mark) return;
    if (seen.delay_count == seen.delay_room) {
        seen.delay_room = seen.delay_room ? 2 * seen.delay_room : 1 << 16;
        seen.delays = realloc(seen.delays, seen.delay_room * sizeof *seen.delays);
    }
    seen.delays[seen.delay_count++] = at - strtoll(mark + 4, NULL, 10);
}

static void line_ended(struct reader *r, int64_t at) {
    if (!strncmp(r->kept, "id: ", 4)) {
        int64_t sequence = strtoll(r->kept + 4, NULL, 10);
        if (sequence != r->last + 1) {
            int64_t gap = sequence - r->last - 1;
            seen.lost += gap < 0 ? -gap : gap;
        }
        r->last = sequence;
    } else if (!strncmp(r->kept, "data: ", 6)) {
        if (r->last > seen.from) {
            if (!seen.first_ns) seen.first_ns = at;
            else seen.events++;
            seen.last_ns = at;
            if (r->line < KEPT) note_delay(r, at);
        }
        if (r->last >= seen.until && !r->done) {
            r->done = 1;
            seen.done++;
        }
    } else if (r->kept[0] == ':' && !r->alive) {
        r->alive = 1;
        seen.alive++;
    } else if (!strncmp(r->kept, "HTTP/1.1 ", 9) && strncmp(r->kept + 9, "200", 3)) {
        fprintf(stderr, "not a stream: %s\n", r->kept);
        exit(1);
    }
}

static void feed(struct reader *r, char *data, size_t n, int64_t at) {
    while (n) {
        char *end = memchr(data, '\n', n);
        size_t part = end ? (size_t)(end - data) : n;
        if (r->line < KEPT) {
            size_t keep = part < KEPT - r->line ? part : KEPT - r->line;
            memcpy(r->kept + r->line, data, keep);
            r->kept[r->line + keep] = 0;
        }
        r->line += part;
        if (!end) return;
        line_ended(r, at);
        r->line = 0;
        r->kept[0] = 0;
        data = end + 1;
        n -= part + 1;
    }
}

static int follow(char **a) {
    int port = atoi(a[0]), count = atoi(a[1]), epoll = epoll_create1(0), told = 0;
    char *data = malloc(CHUNK);
    struct reader *readers = calloc(count, sizeof *readers);
    seen.from = atoll(a[4]);
    seen.until = atoll(a[5]);
    for (int i = 0; i < count; i++) {
        readers[i].fd = connect_to(port);
        watch(epoll, readers[i].fd, EPOLLIN, i, EPOLL_CTL_ADD);
        request(readers[i].fd, port, a[2], a[3]);
    }
    while (seen.done < count) {
        struct epoll_event ready[MAX_EVENTS];
        int n = epoll_wait(epoll, ready, MAX_EVENTS, SILENCE_MS);
        if (n == 0) {
            fprintf(stderr, "silence; %d of %d readers are done\n", seen.done, count);
            return 1;
        }
        for (int i = 0; i < n; i++) {
            struct reader *r = &readers[ready[i].data.u64];
            ssize_t got = recv(r->fd, data, CHUNK, 0);
            if (got > 0) {
                seen.bytes += got;
                feed(r, data, got, now_ns());
            } else {
                epoll_ctl(epoll, EPOLL_CTL_DEL, r->fd, NULL);
                if (!r->done) {
                    fprintf(stderr, "a stream ended early, after %ld\n", r->last);
                    return 1;
                }
            }
        }
        if (!told && seen.alive == count) {
            told = 1;
            puts("ready");
            fflush(stdout);
        }
    }
    qsort(seen.delays, seen.delay_count, sizeof *seen.delays, by_size);
    printf("{\"events\":%ld,\"lost\":%ld,\"bytes\":%ld,\"seconds\":%.6f,\"p50_ms\":%.4f,"
           "\"p99_ms\":%.4f}\n",
           seen.events, seen.lost, seen.bytes, (seen.last_ns - seen.first_ns) / 1e9,
           seen.delay_count ? seen.delays[seen.delay_count / 2] / 1e6 : 0,
           seen.delay_count ? seen.delays[seen.delay_count * 99 / 100] / 1e6 : 0);
    return 0;
}

/* --- limits --- */

static void send_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
        if (n <= 0) return;
        data += n;
        size -= n;
    }
}

static void serve_static(char **a) {
    size_t size;
    char *body = read_file(a[0], &size), head[256], data[4096];
    int n = sprintf(head,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu"
                    "\r\n\r\n",
                    size);
    char *answer = malloc(n + size);
    memcpy(answer, head, n);
    memcpy(answer + n, body, size);
    int listener = listen_anywhere(), epoll = epoll_create1(0), one = 1;
    watch(epoll, listener, EPOLLIN, listener, EPOLL_CTL_ADD);
    for (;;) {
        struct epoll_event ready[MAX_EVENTS];
        int found = epoll_wait(epoll, ready, MAX_EVENTS, -1);
        for (int i = 0; i < found; i++) {
            int fd = (int)ready[i].data.u64;
            if (fd == listener) {
                int client = accept(listener, NULL, NULL);
                if (client < 0) continue;
                setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                watch(epoll, client, EPOLLIN, client, EPOLL_CTL_ADD);
            } else if (recv(fd, data, sizeof data, 0) <= 0) {
                close(fd);
            } else {
                send_all(fd, answer, n + size);
            }
        }
    }
}

static int *accept_readers(int count) {
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n:\n\n";
    int *fds = calloc(count, sizeof *fds), listener = listen_anywhere(), one = 1;
    char data[4096];
    for (int i = 0; i < count; i++) {
        fds[i] = accept(listener, NULL, NULL);
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (recv(fds[i], data, sizeof data, 0) <= 0) die("recv");
        send_all(fds[i], head, sizeof head - 1);
    }
    return fds;
}

static int fanout(char **a) {
    int count = atoi(a[0]), epoll = epoll_create1(0), left = count;
    size_t size, *sent = calloc(count, sizeof *sent);
    char *body = read_file(a[1], &size), data[4096];
    int *fds = accept_readers(count);
    for (int i = 0; i < count; i++) {
        fcntl(fds[i], F_SETFL, O_NONBLOCK);
        watch(epoll, fds[i], EPOLLOUT, i, EPOLL_CTL_ADD);
    }
    while (left) {
        struct epoll_event ready[MAX_EVENTS];
        int found = epoll_wait(epoll, ready, MAX_EVENTS, SILENCE_MS);
        if (found <= 0) return 1;
        for (int i = 0; i < found; i++) {
            size_t which = ready[i].data.u64, rest = size - sent[which];
            ssize_t n = send(fds[which], body + sent[which], rest < CHUNK ? rest : CHUNK,
                             MSG_NOSIGNAL);
            if (n < 0 && errno == EAGAIN) continue;
            if (n > 0) sent[which] += n;
            if (n < 0 || sent[which] == size) {
                epoll_ctl(epoll, EPOLL_CTL_DEL, fds[which], NULL);
                left--;
            }
        }
    }
    for (ssize_t n = -1; n < 0; usleep(1000)) n = recv(fds[count - 1], data, sizeof data, 0);
    return 0;
}

/* What came at once goes out at once, one send for each reader. */
static int relay(char **a) {
    int count = atoi(a[0]), *fds = accept_readers(count);
    char *in = malloc(CHUNK), *out = malloc(2 * CHUNK);
    size_t have = 0;
    long sequence = 0;
    for (ssize_t n; (n = read(0, in + have, CHUNK - have)) > 0;) {
        size_t size = 0;
        char *line = in, *end;
        for (have += n; (end = memchr(line, '\n', in + have - line)); line = end + 1) {
            size += sprintf(out + size, "id: %ld\ndata: %.*s\n\n", ++sequence, (int)(end - line),
                            line);
        }
        have -= line - in;
        memmove(in, line, have);
        for (int i = 0; size && i < count; i++) send_all(fds[i], out, size);
    }
    return 0;
}

int main(int count, char **a) {
    signal(SIGPIPE, SIG_IGN);
    if (count == 10 && !strcmp(a[1], "pages")) return pages(a + 2);
    if (count == 8 && !strcmp(a[1], "follow")) return follow(a + 2);
    if (count == 3 && !strcmp(a[1], "static")) serve_static(a + 2);
    if (count == 4 && !strcmp(a[1], "fanout")) return fanout(a + 2);
    if (count == 3 && !strcmp(a[1], "relay")) return relay(a + 2);
    fputs("usage: see the first comment of load.c\n", stderr);
    return 2;
}
