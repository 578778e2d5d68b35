package solana

import "sort"

// landed is a transaction in a block, with the outcome of its execution. It is not changed after it is added to the
// history.
type landed struct {
	tx     *transaction
	Height uint64
	place  int // index in history.all
	outcome
}

// history is everything that landed, in order, with indexes by signature, message hash and account. A Cluster's mu
// guards it.
type history struct {
	all         []*landed
	bySignature map[signature]*landed
	byMessage   map[hash]*landed
	byAddress   map[address][]*landed
}

// newHistory makes an empty history.
func newHistory() history {
	return history{
		bySignature: map[signature]*landed{},
		byMessage:   map[hash]*landed{},
		byAddress:   map[address][]*landed{},
	}
}

// add appends a transaction and indexes it. Callers add in the order of landing.
func (h *history) add(l *landed) {
	l.place = len(h.all)
	h.all = append(h.all, l)
	h.bySignature[l.tx.Signature()] = l
	h.byMessage[l.tx.Hash()] = l
	for _, key := range l.tx.Keys {
		h.byAddress[key] = append(h.byAddress[key], l)
	}
}

// undo removes everything above the height, when a fork abandons those blocks. The newest go first, so each is the
// last in its indexes.
func (h *history) undo(height uint64) {
	for n := len(h.all); n > 0 && h.all[n-1].Height > height; n-- {
		l := h.all[n-1]
		h.all = h.all[:n-1]
		delete(h.bySignature, l.tx.Signature())
		delete(h.byMessage, l.tx.Hash())
		for _, key := range l.tx.Keys {
			of := h.byAddress[key]
			h.byAddress[key] = of[:len(of)-1]
		}
	}
}

// between lists the transactions that landed above one height and up to another.
func (h *history) between(above, upTo uint64) []*landed {
	// Heights never fall along the list, so both ends are found by binary search.
	from := sort.Search(len(h.all), func(i int) bool { return h.all[i].Height > above })
	to := sort.Search(len(h.all), func(i int) bool { return h.all[i].Height > upTo })
	return h.all[from:max(from, to)]
}

// newer says whether a landed after b: in a later block, or later in the same block.
func (a *landed) newer(b *landed) bool { return a.place > b.place }
