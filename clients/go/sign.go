package purser

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
)

// maxTransaction is Solana's bound on a transaction, in bytes.
const maxTransaction = 1232

// Address is the base58 address of a key, or "" for one of the wrong length.
func Address(key ed25519.PrivateKey) string {
	if len(key) != ed25519.PrivateKeySize {
		return ""
	}
	return base58(key.Public().(ed25519.PublicKey))
}

// Sign signs a Proposal's UnsignedTransaction with a key of the developer's own, and returns the
// signature in base58 for SubmitSignature. It refuses what the key would not sign alone, as payer of the
// fee. It does not read what the transaction pays: whoever calls it trusts the purser that made it.
func Sign(key ed25519.PrivateKey, unsignedTransaction string) (signature string, err error) {
	if len(key) != ed25519.PrivateKeySize {
		return "", errors.New("purser: not an Ed25519 private key")
	}
	if len(unsignedTransaction) > base64.StdEncoding.EncodedLen(maxTransaction) {
		return "", errors.New("purser: the transaction is too large")
	}
	wire, err := base64.StdEncoding.Strict().DecodeString(unsignedTransaction)
	if err != nil {
		return "", errors.New("purser: the transaction is not base64")
	}
	if len(wire) < 1+ed25519.SignatureSize || wire[0] != 1 || len(bytes.Trim(wire[1:1+ed25519.SignatureSize], "\x00")) > 0 {
		return "", errors.New("purser: the transaction has not one empty signature")
	}
	message := wire[1+ed25519.SignatureSize:]
	payer, err := onlySigner(message)
	if err != nil {
		return "", err
	}
	if !bytes.Equal(payer, key.Public().(ed25519.PublicKey)) {
		return "", errors.New("purser: the transaction is another wallet's")
	}
	return base58(ed25519.Sign(key, message)), nil
}

// onlySigner reads as much of a message (legacy, or version 0) as tells who must sign it.
func onlySigner(message []byte) (payer []byte, err error) {
	malformed := errors.New("purser: the transaction's message is malformed")
	if len(message) > 0 && message[0] == 0x80 { // version 0
		message = message[1:]
	}
	// Three counts (signers, and read-only accounts of both sorts), the number of keys, the keys, and
	// the blockhash. More than 127 keys do not fit into a transaction, so their number is one byte.
	if len(message) < 4 || message[0] >= 0x80 || message[3] == 0 || message[3] >= 0x80 ||
		len(message) < 4+int(message[3])*ed25519.PublicKeySize+32 {
		return nil, malformed
	}
	if message[0] != 1 || message[1] != 0 {
		return nil, errors.New("purser: the transaction needs not exactly one signer who pays")
	}
	return message[4 : 4+ed25519.PublicKeySize], nil
}

// SignChallenge signs a Challenge's Message, and returns the signature in base58 for Connect. It refuses
// every text that does not ask to sign in with the key's own address: no answer can have a transaction
// signed by it.
func SignChallenge(key ed25519.PrivateKey, message string) (signature string, err error) {
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

// base58 writes bytes in Bitcoin's alphabet, as Solana does.
func base58(b []byte) string {
	const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	var digits []byte // least first
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
		out.WriteByte(alphabet[0])
	}
	for i := len(digits) - 1; i >= 0; i-- {
		out.WriteByte(alphabet[digits[i]])
	}
	return out.String()
}
