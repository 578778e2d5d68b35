package config

import (
	"slices"

	"purser/wallet"
)

// fraud is which addresses the operator has blocked.
func (ch *checker) fraud() Fraud {
	f := Fraud{File: ch.values["fraud.addresses_file"]}
	for _, item := range split(ch.values["fraud.addresses"]) {
		a, err := wallet.ParseAddress(item)
		if err != nil {
			ch.wrong("fraud.addresses", "%q is no address", item)
			continue
		}
		if !slices.Contains(f.Addresses, a) {
			f.Addresses = append(f.Addresses, a)
		}
	}
	return f
}
