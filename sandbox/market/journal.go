package market

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// journal keeps in a file when the market was made and which prices somebody changed, a line each. It does not sync: a
// killed process loses nothing, and a power failure may lose the last lines. Market.mu guards it.
type journal struct {
	f      *os.File // nil keeps nothing
	closed bool
}

// errClosed is the error of everything that changes a closed Market.
var errClosed = errors.New("sandbox market: closed")

// birth is the first line of a journal.
type birth struct {
	Born time.Time `json:"born"`
}

// openJournal reads the journal of a folder into changes, or begins one with now as the birth. An incomplete last line,
// which a crash left, is cut off: nobody has seen its effect. Any other damage is an error.
func openJournal(dir string, now time.Time, changes map[string][]change) (*journal, time.Time, error) {
	now = now.Round(0) // without the monotonic clock, as it is read back
	if dir == "" {
		return &journal{}, now, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, now, fmt.Errorf("sandbox market: %w", err)
	}
	path := filepath.Join(dir, "market.jsonl")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, now, fmt.Errorf("sandbox market: %w", err)
	}
	j := &journal{f: f}
	born, whole, err := replay(f, changes)
	if err == nil {
		err = f.Truncate(whole)
	}
	if err == nil {
		_, err = f.Seek(whole, io.SeekStart)
	}
	if err == nil && whole == 0 {
		born, err = now, j.write(birth{now})
	}
	if err != nil {
		return nil, now, errors.Join(fmt.Errorf("sandbox market: %s: %w", path, err), f.Close())
	}
	return j, born, nil
}

// replay reads all complete lines and returns how many bytes they have.
func replay(f io.Reader, changes map[string][]change) (born time.Time, whole int64, err error) {
	lines := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return born, whole, nil
		}
		if err != nil {
			return born, whole, err
		}
		var first birth
		var c change
		switch {
		case n == 1:
			err = json.Unmarshal(line, &first)
			born = first.Born
			if err == nil && born.IsZero() {
				err = errors.New("it does not begin with a birth")
			}
		default:
			if err = json.Unmarshal(line, &c); err == nil && (c.Mint == "" || c.At.IsZero() || c.Price > maxPrice) {
				err = errors.New("no price of a token")
			}
		}
		if err != nil {
			return born, whole, fmt.Errorf("line %d is damaged (delete the file to start over): %w", n, err)
		}
		if n > 1 {
			changes[c.Mint] = append(changes[c.Mint], c)
		}
		whole += int64(len(line))
	}
}

// write adds a line.
func (j *journal) write(line any) error {
	if j.closed {
		return errClosed
	}
	if j.f == nil {
		return nil
	}
	text, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("sandbox market: %w", err)
	}
	if _, err := j.f.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("sandbox market: %w", err)
	}
	return nil
}

// close ends the journal. It may be called twice.
func (j *journal) close() error {
	if j.closed || j.f == nil {
		j.closed = true
		return nil
	}
	j.closed = true
	return j.f.Close()
}
