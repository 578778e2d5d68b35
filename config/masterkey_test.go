package config

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMasterKeyIsMadeOnceForANewStore(t *testing.T) {
	dir := t.TempDir()
	c := Config{Store: Store{Path: filepath.Join(dir, "purser.db")}}
	random := bytes.NewReader(bytes.Repeat([]byte{7}, 64))
	key, note, err := MasterKey(c, false, random)
	if err != nil || len(key) != 32 || !strings.Contains(note, filepath.Join(dir, KeyFile)) || !strings.Contains(note, "apart") {
		t.Fatalf("%x, %q, %v", key, note, err)
	}
	info, err := os.Stat(filepath.Join(dir, KeyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	again, note, err := MasterKey(c, true, random)
	if err != nil || !bytes.Equal(again, key) || note != "" {
		t.Errorf("second start: %x, %q, %v", again, note, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestMasterKeyOfAnExistingStoreIsNeverMadeUp(t *testing.T) {
	dir := t.TempDir()
	c := Config{Store: Store{Path: filepath.Join(dir, "purser.db")}}
	if _, _, err := MasterKey(c, true, bytes.NewReader(make([]byte, 64))); err == nil || !strings.Contains(err.Error(), "PURSER_STORE_MASTER_KEY") {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("something was written: %v, %v", entries, err)
	}
}

func TestMasterKeyFromSettings(t *testing.T) {
	want, err := base64.StdEncoding.DecodeString(masterB64)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key")
	write := func(content string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	write(masterB64+"\n", 0o600)
	for _, s := range []Store{{MasterKey: masterB64}, {MasterKeyFile: path}} {
		if key, note, err := MasterKey(Config{Store: s}, true, nil); err != nil || note != "" || !bytes.Equal(key, want) {
			t.Errorf("%x, %q, %v", key, note, err)
		}
	}
	fromFile := Config{Store: Store{MasterKeyFile: path}}
	write(masterB64, 0o640)
	if _, _, err := MasterKey(fromFile, false, nil); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others can read: %v", err)
	}
	write("c2hvcnQ= s3cret", 0o600)
	if _, _, err := MasterKey(fromFile, false, nil); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a broken key: %v", err)
	}
	fromFile.Store.MasterKeyFile = path + ".gone"
	if _, _, err := MasterKey(fromFile, false, nil); err == nil {
		t.Error("a key file that is named must exist, also for a new store")
	}
}
