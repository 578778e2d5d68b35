package purser

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
)

// maxTransaction is Solana's limit for a transaction, in bytes.
const maxTransaction = 1232

// Address is the base58 address of a key, or "" for one of the wrong length.
func Address(key ed25519.PrivateKey) string {
	if len(key) != ed25519.PrivateKeySize {
		return ""
	}
	return base58(key.Public().(ed25519.PublicKey))
}

// Sign signs a Proposal's UnsignedTransaction with a key of the developer's own, and returns the signature in
// base58 for SubmitSignature. It reads the transaction itself and refuses it unless it is the expected payment
// from this key's wallet and nothing else. So the key signs what its owner meant, whatever purser says about the
// transaction. Beside the payment it may contain the recipient's new token account, a memo, references, and a compute
// budget whose priority fee is at most 0.001 SOL. Transactions of version 1 and with lookup tables are refused.
func Sign(unsignedTransaction string, key ed25519.PrivateKey, want Expected) (signature string, err error) {
	message, err := ownMessage(unsignedTransaction, key)
	if err != nil {
		return "", err
	}
	if err := want.check(message); err != nil {
		return "", err
	}
	return base58(ed25519.Sign(key, message)), nil
}

// SignBlindly signs a Proposal's UnsignedTransaction without reading what it pays. Its caller trusts the purser that built it,
// and everyone on the network path, with the wallet's whole balance. It only checks that the key is the fee payer and the
// only signer. Use Sign instead where you can.
func SignBlindly(unsignedTransaction string, key ed25519.PrivateKey) (signature string, err error) {
	message, err := ownMessage(unsignedTransaction, key)
	if err != nil {
		return "", err
	}
	return base58(ed25519.Sign(key, message)), nil
}

// ownMessage returns the message of a transaction that needs the key's signature and no other.
func ownMessage(unsignedTransaction string, key ed25519.PrivateKey) ([]byte, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, errors.New("purser: not an Ed25519 private key")
	}
	if len(unsignedTransaction) > base64.StdEncoding.EncodedLen(maxTransaction) {
		return nil, errors.New("purser: the transaction is too large")
	}
	wire, err := base64.StdEncoding.Strict().DecodeString(unsignedTransaction)
	if err != nil {
		return nil, errors.New("purser: the transaction is not base64")
	}
	if len(wire) < 1+ed25519.SignatureSize || wire[0] != 1 || len(bytes.Trim(wire[1:1+ed25519.SignatureSize], "\x00")) > 0 {
		return nil, errors.New("purser: the transaction has not one empty signature")
	}
	message := wire[1+ed25519.SignatureSize:]
	m, err := readMessage(message)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(m.keys[0], key.Public().(ed25519.PublicKey)) {
		return nil, errors.New("purser: the transaction is another wallet's")
	}
	return message, nil
}

// SignChallenge signs a Challenge's Message, and returns the signature in base58 for Connect. It refuses
// every text that is not a sign-in with the key's own address, so no server can get a transaction signed by it.
func SignChallenge(message string, key ed25519.PrivateKey) (signature string, err error) {
	if len(key) != ed25519.PrivateKeySize {
		return "", errors.New("purser: not an Ed25519 private key")
	}
	lines := strings.SplitN(message, "\n", 4)
	host, isSignIn := strings.CutSuffix(lines[0], " wants you to sign in with your Solana account:")
	readable := !strings.ContainsFunc(message, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') })
	if !isSignIn || host == "" || len(lines) < 4 || lines[1] != Address(key) || lines[2] != "" || !readable {
		return "", errors.New("purser: the text does not ask to sign in with this key's address")
	}
	return base58(ed25519.Sign(key, []byte(message))), nil
}

const base58Alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// base58 writes bytes in Bitcoin's alphabet, as Solana does.
func base58(b []byte) string {
	var digits []byte // least significant first
	for _, carry := range b {
		c := int(carry)
		for i := range digits {
			c += int(digits[i]) << 8
			digits[i] = byte(c % 58)
			c /= 58
		}
		for ; c > 0; c /= 58 {
			digits = append(digits, byte(c%58))
		}
	}
	var out strings.Builder
	for i := 0; i < len(b) && b[i] == 0; i++ {
		out.WriteByte(base58Alphabet[0])
	}
	for i := len(digits) - 1; i >= 0; i-- {
		out.WriteByte(base58Alphabet[digits[i]])
	}
	return out.String()
}
