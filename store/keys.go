package store

import "purser/wallet"

// KeyLineage lists a lineage of API keys, each the successor of the one before it, from the key with the id first. If a
// key cannot be read, it returns those before it with the error (ErrNotFound: there is none).
func KeyLineage(tx Tx, first string) (line []wallet.Key, err error) {
	for id := first; id != ""; {
		key, err := tx.Key(id)
		if err != nil {
			return line, err
		}
		line, id = append(line, key), key.Next
	}
	return line, nil
}
