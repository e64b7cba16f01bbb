#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

void print(const char *text);
void print_hex(uint64_t number);
void start_ticks(void); /* at most 2^24 ticks later, ... */
uint32_t ticks(void);   /* ... this is how many have passed */
void finish(void);

#endif
