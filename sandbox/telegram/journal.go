package telegram

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// journal keeps the state in a file: each line is a JSON list of changes that were committed together. It does not
// sync: a killed process loses nothing, and a power failure may lose the last lines, which is acceptable in a
// sandbox. Server.mu guards it.
type journal struct {
	dir   string // "" keeps nothing on disk
	f     *os.File
	blobs map[string][]byte // uploaded files, when dir is ""
}

// errClosed is the error of everything that changes a closed Server.
var errClosed = errors.New("sandbox telegram: closed")

// openJournal replays the file into st, rewrites it without what is no longer needed, and opens it for appending. An
// incomplete last line, left by a crash, is dropped. Any other damage is an error.
func openJournal(dir string, st *state) (*journal, error) {
	if dir == "" {
		return &journal{blobs: map[string][]byte{}}, nil
	}
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o700); err != nil {
		return nil, fmt.Errorf("sandbox telegram: %w", err)
	}
	path := filepath.Join(dir, "telegram.jsonl")
	if err := replay(path, st); err != nil {
		return nil, err
	}
	if err := rewrite(path, st); err != nil {
		return nil, fmt.Errorf("sandbox telegram: rewrite %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sandbox telegram: %w", err)
	}
	return &journal{dir: dir, f: f}, nil
}

// replay applies every complete line. A file that does not exist yet is empty.
func replay(path string, st *state) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sandbox telegram: %w", err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return nil // an incomplete line was never committed, so nobody has seen its effect
		}
		if err != nil {
			return fmt.Errorf("sandbox telegram: read %s: %w", path, err)
		}
		var cs []change
		if err := json.Unmarshal(line, &cs); err != nil {
			return fmt.Errorf("sandbox telegram: %s line %d is damaged (delete the folder to begin anew): %w", path, n, err)
		}
		for _, c := range cs {
			st.apply(c)
		}
	}
}

// rewrite replaces the file by a snapshot of st. It renames a finished file, so a crash leaves the old one or the new
// one.
func rewrite(path string, st *state) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, c := range st.snapshot() {
		if err := enc.Encode([]change{c}); err != nil {
			return err
		}
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, b.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// append writes the changes as one line, with one system call. After an error the journal is closed and every later
// append fails.
func (j *journal) append(cs []change) error {
	if j.dir == "" {
		return nil
	}
	if j.f == nil {
		return errClosed
	}
	line, err := json.Marshal(cs)
	if err != nil {
		return fmt.Errorf("sandbox telegram: journal: %w", err)
	}
	if _, err := j.f.Write(append(line, '\n')); err != nil {
		// Half a line may stand there now; writing on would leave it in the middle of the file.
		return errors.Join(fmt.Errorf("sandbox telegram: journal: %w", err), j.close())
	}
	return nil
}

// close may be called more than once.
func (j *journal) close() error {
	if j.f == nil {
		return nil
	}
	err := j.f.Close()
	j.f = nil
	return err
}

// save stores the bytes of an uploaded file under its id. It comes before the commit that refers to the file.
func (j *journal) save(id string, data []byte) error {
	if j.dir == "" {
		j.blobs[id] = data
		return nil
	}
	path := filepath.Join(j.dir, "files", id)
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return fmt.Errorf("sandbox telegram: save file: %w", err)
	}
	return os.Rename(path+".new", path)
}

// load returns the bytes that save stored. Ids are taken from the state only, never from a request.
func (j *journal) load(id string) ([]byte, error) {
	if j.dir == "" {
		return j.blobs[id], nil
	}
	return os.ReadFile(filepath.Join(j.dir, "files", id))
}
