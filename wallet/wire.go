package wallet

// MessageV1Prefix is the first byte of a version 1 transaction (SIMD-0385), in which the message comes first. Older
// transactions begin with the number of their signatures, which is always smaller.
const MessageV1Prefix = 0x81
