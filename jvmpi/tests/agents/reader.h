/* Reads dumps: numbers are big-endian, ids are native pointers, nothing is aligned. */
#ifndef READER_H
#define READER_H

#include <stddef.h>

#include "judge.h"

typedef struct {
    const unsigned char *at, *end;
    const char *dump; /* the name of the event, for complaints */
} Reader;

static inline Reader reader_of(const char *dump, const char *begin, const char *end) {
    EXPECT(begin && end && begin <= end, "%s from %p to %p", dump, (void *)begin, (void *)end);
    return (Reader){(const unsigned char *)begin, (const unsigned char *)end, dump};
}

/* Reads the next bytes; zeros behind the end. */
static inline const unsigned char *bytes(Reader *reader, ptrdiff_t count) {
    static const unsigned char zeros[8];
    if (reader->end - reader->at < count) {
        complain("%s: the last record ends behind the end", reader->dump);
        reader->at = reader->end;
        return zeros;
    }
    reader->at += count;
    return reader->at - count;
}

static inline uint64_t number(Reader *reader, int size) {
    const unsigned char *at = bytes(reader, size);
    uint64_t value = 0;
    for (int i = 0; i < size; i++) {
        value = value << 8 | at[i];
    }
    return value;
}

static inline void *pointer(Reader *reader) {
    void *value;
    memcpy(&value, bytes(reader, sizeof value), sizeof value);
    return value;
}

#endif
