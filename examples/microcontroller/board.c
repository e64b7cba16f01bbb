/* The start of a program on a Cortex-M, and output by semihosting, as qemu and debuggers offer it. */
#include "board.h"

extern uint32_t end_of_stack, data_begin, data_end, data_source, zero_begin, zero_end;

int main(void);

void start(void)
{
    const uint32_t *from = &data_source;
    for (uint32_t *to = &data_begin; to < &data_end;) *to++ = *from++;
    for (uint32_t *to = &zero_begin; to < &zero_end;) *to++ = 0;
    main();
    finish();
}

static void stop(void) { finish(); }

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &end_of_stack, (const void *)start, (const void *)stop, (const void *)stop,
};

static uint32_t semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void finish(void)
{
    for (;;) semihosting(0x18, (const void *)0x20026); /* the program ended as it should */
}

void print(const char *text) { semihosting(0x04, text); }

void print_hex(uint64_t number)
{
    char text[18];
    for (int i = 0; i < 16; ++i) text[i] = "0123456789abcdef"[number >> (60 - 4 * i) & 15];
    text[16] = ' ';
    text[17] = 0;
    print(text);
}

/* SysTick counts down 24 bits with the clock of the processor. */
static volatile uint32_t *const systick = (volatile uint32_t *)0xe000e010;

void start_ticks(void)
{
    systick[1] = 0xffffff;
    systick[2] = 0;
    systick[0] = 5;
}

uint32_t ticks(void) { return 0xffffff - systick[2]; }

/* What the compiler may call. */
__attribute__((weak)) void *memcpy(void *to, const void *from, unsigned n)
{
    for (unsigned i = 0; i < n; ++i) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

__attribute__((weak)) void *memset(void *to, int value, unsigned n)
{
    for (unsigned i = 0; i < n; ++i) ((char *)to)[i] = (char)value;
    return to;
}
