package wallet

// parseAmount parses a positive decimal exactly, for a token with that many decimals, as ParseDecimal and Decimal.In do for
// what people and programs ask for.
func parseAmount(text string, decimals uint8) (Amount, error) {
	d, err := ParseDecimal(text)
	if err != nil {
		return Amount{}, err
	}
	return d.In(decimals)
}

// builtInKinds are the kinds of an unmodified purser.
func builtInKinds() Kinds {
	k, err := NewKinds(SendRules(), ReceiveRules(), RequestRules())
	if err != nil {
		panic(err)
	}
	return k
}
