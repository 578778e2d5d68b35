package store

import "purser/wallet"

// KeyLineage lists the keys of a line, each the successor of the one before it. With an error it returns those
// before the key that could not be read: ErrNotFound when there is none.
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
