package chat

import (
	"context"
	"embed"
	"io/fs"
	"slices"
)

// Handle plays a front: it finds the endpoint of an input, with what a front puts around each. Fronts do it by a
// router of their own, see bot.
func (c *Chat) Handle(ctx context.Context, in Input) (Turn, error) {
	h, err := c.Receive(ctx, in)
	if err != nil {
		return Turn{}, err
	}
	for _, e := range c.Endpoints() {
		if e.Route != h.Route {
			continue
		}
		if !h.Private && !e.Groups {
			return c.PrivateOnly(h)
		}
		turn, err := e.Handle(ctx, h)
		if slow, ok := c.SlowDown(h, err); ok {
			return slow, nil
		}
		return turn, err
	}
	return c.turn(h, nil, nil)
}

// without is a directory but for one file.
type without struct {
	embed.FS
	name string
}

func (w without) Open(name string) (fs.File, error) {
	if name == w.name {
		return nil, fs.ErrNotExist
	}
	return w.FS.Open(name)
}

func (w without) ReadFile(name string) ([]byte, error) {
	if name == w.name {
		return nil, fs.ErrNotExist
	}
	return w.FS.ReadFile(name)
}

func (w without) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := w.FS.ReadDir(name)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return e.Name() == w.name }), err
}

// NewIn is New with the texts of one more language.
func NewIn(o Options, texts fs.FS) (*Chat, error) { return newChat(o, conversations(), locales, texts) }
