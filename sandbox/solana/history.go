package solana

import "sort"

// landed is a transaction in a block, with what it did.
type landed struct {
	tx     *transaction
	Height uint64
	place  int // in the order of landing
	outcome
}

// history is everything that landed, in order, and the ways to find it.
type history struct {
	all         []*landed
	bySignature map[signature]*landed
	byMessage   map[hash]*landed
	byAddress   map[address][]*landed
}

func newHistory() history {
	return history{
		bySignature: map[signature]*landed{},
		byMessage:   map[hash]*landed{},
		byAddress:   map[address][]*landed{},
	}
}

func (h *history) add(l *landed) {
	l.place = len(h.all)
	h.all = append(h.all, l)
	h.bySignature[l.tx.Signature()] = l
	h.byMessage[l.tx.Hash()] = l
	for _, key := range l.tx.Keys {
		h.byAddress[key] = append(h.byAddress[key], l)
	}
}

// undo takes back everything above the height.
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

// between lists what landed above one height and up to another.
func (h *history) between(above, upTo uint64) []*landed {
	from := sort.Search(len(h.all), func(i int) bool { return h.all[i].Height > above })
	to := sort.Search(len(h.all), func(i int) bool { return h.all[i].Height > upTo })
	return h.all[from:max(from, to)]
}

// newer says whether a landed after b, whether in a later block or later in the same one.
func (a *landed) newer(b *landed) bool { return a.place > b.place }
