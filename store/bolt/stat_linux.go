package bolt

import (
	"os"
	"syscall"
)

// statRecord is what the kernel keeps of a file: which one it is, its length, and when it was last written to or changed in
// any other way. A program cannot set the last of these times.
func statRecord(info os.FileInfo) (record []byte, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, false
	}
	return appendNumbers(nil, uint64(s.Dev), s.Ino, uint64(s.Size), //nolint:unconvert // Dev is shorter on some machines
		uint64(s.Mtim.Sec), uint64(s.Mtim.Nsec), uint64(s.Ctim.Sec), uint64(s.Ctim.Nsec)), true
}
