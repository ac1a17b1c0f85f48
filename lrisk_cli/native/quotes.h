/* Where the records of delimited text end, 64 bytes at a time. */
#ifndef LRISK_QUOTES_H
#define LRISK_QUOTES_H

#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* A bit for each of 64 bytes that is c. */
static inline uint64_t bytes_equal(const unsigned char *s, unsigned char c) {
    uint64_t found = 0;
#if defined(__SSE2__)
    const __m128i wanted = _mm_set1_epi8((char)c);
    for (int k = 0; k < 4; k++) {
        const __m128i some = _mm_loadu_si128((const __m128i *)(s + 16 * k));
        found |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(some, wanted)) << (16 * k);
    }
#else
    for (int k = 0; k < 64; k++) found |= (uint64_t)(s[k] == c) << k;
#endif
    return found;
}

/* Bit k: whether an odd number of the bits up to k is set. */
static inline uint64_t parities(uint64_t bits) {
    for (int k = 1; k < 64; k *= 2) bits ^= bits << k;
    return bits;
}

/* The next 64 bytes of a text of which n are left; `room` takes them where there are fewer. */
static inline const unsigned char *next_64(const unsigned char *s, Py_ssize_t n,
                                           unsigned char *room) {
    if (n >= 64) return s;
    memset(room, 'x', 64);
    memcpy(room, s, n);
    return room;
}

/* Take every quote for one that opens or closes a field, and see whether that is so: each that
   opens one must follow a delimiter, the end of a line, or a quote that closed it. Returns 0 where
   one does not. Else *end is the offset after the last LF or CR outside quotes, 0 if there is none,
   and *open tells whether a quote is left open. A CR that is the last byte is no end: an LF that
   belongs to it may follow. */
static inline int regular_quotes(const unsigned char *text, Py_ssize_t size,
                                 unsigned char delimiter, Py_ssize_t *end, int *open) {
    uint64_t inside = 0, after_mark = 1, after_quote = 0;
    unsigned char room[64];
    *end = 0;
    for (Py_ssize_t at = 0; at < size; at += 64) {
        const unsigned char *s = next_64(text + at, size - at, room);
        const uint64_t quotes = bytes_equal(s, '"'), feeds = bytes_equal(s, '\n');
        const uint64_t returns = bytes_equal(s, '\r');
        const uint64_t marks = feeds | returns | bytes_equal(s, delimiter);
        const uint64_t within = parities(quotes) ^ inside;
        if (quotes & within & ~(marks << 1 | after_mark | quotes << 1 | after_quote)) return 0;
        const uint64_t last = size - at <= 64 ? (uint64_t)1 << (size - at - 1) : 0;
        const uint64_t ends = (feeds | (returns & ~last)) & ~within;
        if (ends) *end = at + 64 - __builtin_clzll(ends);
        inside = within >> 63 ? ~(uint64_t)0 : 0;
        after_mark = marks >> 63;
        after_quote = quotes >> 63;
    }
    *open = inside != 0;
    return 1;
}

/* How many LF, CR and CRLF there are. */
static inline Py_ssize_t line_ends(const unsigned char *text, Py_ssize_t size) {
    uint64_t after_return = 0;
    unsigned char room[64];
    Py_ssize_t n = 0;
    for (Py_ssize_t at = 0; at < size; at += 64) {
        const unsigned char *s = next_64(text + at, size - at, room);
        const uint64_t feeds = bytes_equal(s, '\n'), returns = bytes_equal(s, '\r');
        n += __builtin_popcountll(returns);
        n += __builtin_popcountll(feeds & ~(returns << 1 | after_return));
        after_return = returns >> 63;
    }
    return n;
}

#endif
