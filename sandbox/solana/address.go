package solana

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"

	"filippo.io/edwards25519"
	"github.com/mr-tron/base58"
)

// address is an account's public key or program-derived address, 32 bytes.
type address [32]byte

// signature is an ed25519 signature; the first of a transaction names it.
type signature [64]byte

// hash is a SHA-256: a blockhash or a message hash.
type hash [32]byte

// MarshalText and UnmarshalText write and read addresses in base58, the form they have in the journal.
func (a address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

func (a *address) UnmarshalText(text []byte) error {
	key, err := parseAddress(string(text))
	*a = key
	return err
}

func (a address) String() string   { return base58.Encode(a[:]) }
func (s signature) String() string { return base58.Encode(s[:]) }
func (h hash) String() string      { return base58.Encode(h[:]) }

// maxBase58 is the length of the longest base58 text of 64 bytes. Longer texts are not decoded, because base58 costs
// quadratic time.
const maxBase58 = 88

// decodeFixed reads a base58 text of exactly size bytes. Its error texts are the ones that Agave puts after "Invalid
// param: ".
func decodeFixed(text string, size int) ([]byte, error) {
	if len(text) > maxBase58 {
		return nil, errors.New("WrongSize")
	}
	raw, err := base58.Decode(text)
	if err != nil {
		return nil, errors.New("Invalid")
	}
	if len(raw) != size {
		return nil, errors.New("WrongSize")
	}
	return raw, nil
}

// parseAddress reads 32 bytes in base58.
func parseAddress(text string) (address, error) {
	raw, err := decodeFixed(text, len(address{}))
	if err != nil {
		return address{}, err
	}
	return address(raw), nil
}

// parseSignature reads 64 bytes in base58.
func parseSignature(text string) (signature, error) {
	raw, err := decodeFixed(text, len(signature{}))
	if err != nil {
		return signature{}, err
	}
	return signature(raw), nil
}

// known reads one of the constant addresses below. It panics on a wrong one, which is a programming mistake.
func known(text string) address {
	a, err := parseAddress(text)
	if err != nil {
		panic(fmt.Sprintf("solana: constant address %s: %v", text, err))
	}
	return a
}

// Addresses of programs, loaders, sysvars and special accounts, as on mainnet. Read-only after start.
var (
	systemProgram     = address{}
	budgetProgram     = known("ComputeBudget111111111111111111111111111111")
	memoV1            = known("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo")
	memoV3            = known("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
	memoV4            = known("Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH")
	lookupProgram     = known("AddressLookupTab1e1111111111111111111111111")
	nativeLoader      = known("NativeLoader1111111111111111111111111111111")
	loaderV1          = known("BPFLoader1111111111111111111111111111111111")
	loaderV2          = known("BPFLoader2111111111111111111111111111111111")
	loaderV3          = known("BPFLoaderUpgradeab1e11111111111111111111111")
	loaderV4          = known("LoaderV411111111111111111111111111111111111")
	rentSysvar        = known("SysvarRent111111111111111111111111111111111")
	sysvarOwner       = known("Sysvar1111111111111111111111111111111111111")
	lighthouseProgram = known("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95")
	noopProgram       = known("noopb9bkMVfRPU8AsbpTUg8AQkHtKwMYZiFUjNRtMmV")

	stakeProgram   = known("Stake11111111111111111111111111111111111111")
	voteProgram    = known("Vote111111111111111111111111111111111111111")
	configProgram  = known("Config1111111111111111111111111111111111111")
	clockSysvar    = known("SysvarC1ock11111111111111111111111111111111")
	historySysvar  = known("SysvarStakeHistory1111111111111111111111111")
	rewardsSysvar  = known("SysvarEpochRewards1111111111111111111111111")
	scheduleSysvar = known("SysvarEpochSchedu1e111111111111111111111111")

	ed25519Program   = known("Ed25519SigVerify111111111111111111111111111")
	secp256k1Program = known("KeccakSecp256k11111111111111111111111111111")
	secp256r1Program = known("Secp256r1SigVerify1111111111111111111111111")

	incinerator = known("1nc1nerator11111111111111111111111111111111")

	tokenProgram      = known("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
	token2022Program  = known("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
	associatedProgram = known("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
	nativeMint        = known("So11111111111111111111111111111111111111112")
	nativeMint2022    = known("9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP")
)

// reserved are the builtin programs and sysvars. A message may mark them writable, but the runtime treats them as
// read-only (Agave: reserved account keys).
var reserved = func() map[address]bool {
	keys := map[address]bool{
		systemProgram: true, budgetProgram: true, nativeLoader: true,
		loaderV1: true, loaderV2: true, loaderV3: true, loaderV4: true,
	}
	for _, text := range []string{
		"AddressLookupTab1e1111111111111111111111111",
		"Config1111111111111111111111111111111111111",
		"Ed25519SigVerify111111111111111111111111111",
		"Feature111111111111111111111111111111111111",
		"KeccakSecp256k11111111111111111111111111111",
		"Secp256r1SigVerify1111111111111111111111111",
		"Stake11111111111111111111111111111111111111",
		"StakeConfig11111111111111111111111111111111",
		"Vote111111111111111111111111111111111111111",
		"ZkE1Gama1Proof11111111111111111111111111111",
		"ZkTokenProof1111111111111111111111111111111",
		"Sysvar1111111111111111111111111111111111111",
		"SysvarC1ock11111111111111111111111111111111",
		"SysvarEpochRewards1111111111111111111111111",
		"SysvarEpochSchedu1e111111111111111111111111",
		"SysvarFees111111111111111111111111111111111",
		"Sysvar1nstructions1111111111111111111111111",
		"SysvarLastRestartS1ot1111111111111111111111",
		"SysvarRecentB1ockHashes11111111111111111111",
		"SysvarRent111111111111111111111111111111111",
		"SysvarRewards111111111111111111111111111111",
		"SysvarS1otHashes111111111111111111111111111",
		"SysvarS1otHistory11111111111111111111111111",
		"SysvarStakeHistory1111111111111111111111111",
	} {
		keys[known(text)] = true
	}
	return keys
}()

// isMemo says whether a program is one of the three deployed memo programs. They behave alike, except for compute
// units.
func isMemo(program address) bool { return program == memoV1 || program == memoV3 || program == memoV4 }

// maxSeedLength is in bytes. derivedMarker is hashed into every program-derived address.
const (
	maxSeedLength = 32
	derivedMarker = "ProgramDerivedAddress"
)

// withSeed derives the address of the *WithSeed instructions: SHA-256 of base, seed and owner. Its errors are the
// codes of PubkeyError (0 MaxSeedLengthExceeded, 2 IllegalOwner), which the System program returns as its own custom
// codes. The owner check keeps anybody from choosing the three parts so that they hash to a program-derived address.
func withSeed(base address, seed string, owner address) (address, *InstructionError) {
	if len(seed) > maxSeedLength {
		return address{}, custom(0)
	}
	if bytes.HasSuffix(owner[:], []byte(derivedMarker)) {
		return address{}, custom(2)
	}
	sum := sha256.New()
	sum.Write(base[:])
	sum.Write([]byte(seed))
	sum.Write(owner[:])
	return address(sum.Sum(nil)), nil
}

// verifySignature checks ed25519 signatures as validators do (verify_strict): it also refuses keys and commitments of
// small order, for which the plain equation would hold with many messages.
func verifySignature(key address, message []byte, sig signature) bool {
	if !ed25519.Verify(key[:], message, sig[:]) {
		return false
	}
	return !smallOrder(key[:]) && !smallOrder(sig[:32])
}

// smallOrder reports whether a point is one of the eight of the torsion subgroup. It also returns true for bytes that
// are no point.
func smallOrder(point []byte) bool {
	p, err := new(edwards25519.Point).SetBytes(point)
	if err != nil {
		return true
	}
	return p.MultByCofactor(p).Equal(edwards25519.NewIdentityPoint()) == 1
}
