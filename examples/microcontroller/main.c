/* Predicts the rows of rows.h, then rows of arbitrary bits, and counts what a prediction takes. */
#include "board.h"
#include "model.h"
#include "rows.h"

/* A number that depends on its argument in an arbitrary way. */
static uint32_t mixed(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

int main(void)
{
    int16_t row[MODEL_COLUMNS];
    int64_t values[MODEL_OUTPUTS];
    uint64_t sum = 0;
    uint32_t count = 0;

    for (int i = 0; i < N_ROWS; ++i) {
        model_quantise(rows[i], row);
        print_hex((uint64_t)(int64_t)model_predict(row));
    }
    print("\n");

    /* Every other row is made of the bits of floats, which may be infinite or no numbers. */
    for (int i = 0; i < N_MIXED; ++i) {
        if (i % 2) {
            union { uint32_t bits; float value; } x[MODEL_FEATURES];
            float given[MODEL_FEATURES];
            for (int k = 0; k < MODEL_FEATURES; ++k) {
                x[k].bits = mixed(count++);
                given[k] = x[k].value;
            }
            model_quantise(given, row);
        } else {
            const int shift = i / 2 % 12;
            for (int k = 0; k < MODEL_COLUMNS; ++k)
                row[k] = (int16_t)((int32_t)mixed(count++) >> 16 >> shift);
        }
        model_decision(row, values);
        for (int o = 0; o < MODEL_OUTPUTS; ++o) sum = sum * 0x100000001b3u + (uint64_t)values[o];
    }
    print_hex(sum);

    start_ticks();
    for (int i = 0; i < N_ROWS; ++i) {
        model_quantise(rows[i], row);
        count += (uint32_t)model_predict(row);
    }
    print_hex(ticks());
    print(count ? "\n" : " \n");
    return 0;
}
