package solana

import (
	"crypto/sha256"

	"filippo.io/edwards25519"
)

// maxSeeds is how many seeds a program-derived address may have, including its bump.
const maxSeeds = 16

// onCurve says whether the address is a point of ed25519, so that a private key for it may exist.
func onCurve(key address) bool {
	_, err := new(edwards25519.Point).SetBytes(key[:])
	return err == nil
}

// derive makes a program-derived address from seeds, the last of which is the bump. ok is false if a private key
// could exist for the result, or if a seed is too long.
func derive(program address, seeds ...[]byte) (key address, ok bool) {
	if len(seeds) > maxSeeds {
		return key, false
	}
	sum := sha256.New()
	for _, s := range seeds {
		if len(s) > maxSeedLength {
			return key, false
		}
		sum.Write(s)
	}
	sum.Write(program[:])
	sum.Write([]byte(derivedMarker))
	key = address(sum.Sum(nil))
	return key, !onCurve(key)
}

// findDerived finds the highest bump that gives a valid address. tries is the number of bumps it tried, for which the
// program pays compute units. It is 0 if no bump works.
func findDerived(program address, seeds ...[]byte) (key address, bump byte, tries int) {
	all := append(append([][]byte(nil), seeds...), nil)
	for b := 255; b >= 0; b-- {
		all[len(seeds)] = []byte{byte(b)}
		if key, ok := derive(program, all...); ok {
			return key, byte(b), 256 - b
		}
	}
	return address{}, 0, 0
}

// associatedAddress is the associated token account of a wallet for a mint of that token program.
func associatedAddress(wallet, tokens, mint address) (key address, tries int) {
	key, _, tries = findDerived(associatedProgram, wallet[:], tokens[:], mint[:])
	return key, tries
}
