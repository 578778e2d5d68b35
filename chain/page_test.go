package chain

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// pageDecoder runs the signing page's decoder over lines of {message, signer}.
const pageDecoder = `
import { createInterface } from 'node:readline';
import { decode } from 'PAGE/decode.js';
for await (const line of createInterface({ input: process.stdin })) {
  const { message, signer } = JSON.parse(line);
  let answer;
  try {
    answer = { want: await decode(new Uint8Array(Buffer.from(message, 'base64')), signer) };
  } catch (error) {
    if (!error.code) throw error;
    answer = { refused: error.code };
  }
  console.log(JSON.stringify(answer));
}`

// TestThePageDecodesMutantsAlike gives thousands of damaged messages to both decoders: whatever one
// refuses the other must refuse for the same reason, whatever one shows the other must show alike.
// The seed is fixed, so a difference comes back.
func TestThePageDecodesMutantsAlike(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("Node.js is needed to compare with the page's decoder")
		}
		t.Skip("Node.js is needed to compare with the page's decoder")
	}
	page, err := filepath.Abs(filepath.Join("..", "signer", "page"))
	if err != nil {
		t.Fatal(err)
	}
	var asked []fixture
	var input bytes.Buffer
	random := rand.New(rand.NewPCG(1, 2))
	all := fixtures(t)
	for range rounds(20_000) {
		origin := all[random.IntN(len(all))]
		raw, _ := origin.bytes(t)
		other, _ := all[random.IntN(len(all))].bytes(t)
		raw = mutate(random, raw, other)
		f := fixture{Name: origin.Name, Message: base64.StdEncoding.EncodeToString(raw), Signer: origin.Signer}
		asked = append(asked, f)
		line, err := json.Marshal(map[string]string{"message": f.Message, "signer": f.Signer})
		if err != nil {
			t.Fatal(err)
		}
		input.Write(append(line, '\n'))
	}
	script := bytes.ReplaceAll([]byte(pageDecoder), []byte("PAGE"), []byte("file://"+filepath.ToSlash(page)))
	command := exec.CommandContext(t.Context(), node, "--input-type=module", "--eval", string(script))
	command.Stdin, command.Stderr = &input, os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, 1<<20)
	accepted := 0
	for _, f := range asked {
		if !lines.Scan() {
			t.Fatal("the page's decoder answered too little")
		}
		var answer struct {
			Want    map[string]any `json:"want"`
			Refused string         `json:"refused"`
		}
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		raw, signer := f.bytes(t)
		d, err := Decode(raw, signer)
		if err != nil {
			var refused *NotAllowed
			if !errors.As(err, &refused) || refused.Code != answer.Refused {
				t.Errorf("from %q: Go says %v, the page %s\n%s for %s", f.Name, err, lines.Bytes(), f.Message, f.Signer)
			}
			continue
		}
		accepted++
		if got := described(d); !alike(got, answer.Want) {
			t.Errorf("from %q: Go shows %v, the page %s\n%s", f.Name, got, lines.Bytes(), f.Message)
		}
	}
	if accepted < len(asked)/20 || accepted > len(asked)*19/20 {
		t.Errorf("%d of %d accepted: this proves little", accepted, len(asked))
	}
}

// mutate damages a message a little, now and then not at all.
func mutate(random *rand.Rand, raw, other []byte) []byte {
	raw = slices.Clone(raw)
	for range random.IntN(3) {
		if len(raw) == 0 {
			break
		}
		at := random.IntN(len(raw))
		switch random.IntN(6) {
		case 0:
			raw[at] ^= 1 << random.IntN(8)
		case 1:
			raw[at] = byte(random.IntN(8)) // counts and indexes are small
		case 2:
			raw = raw[:at]
		case 3:
			raw = slices.Insert(raw, at, byte(random.IntN(256)))
		case 4:
			raw = slices.Delete(raw, at, at+1)
		case 5: // the tail of another message
			raw = append(raw[:at], other[min(at, len(other)):]...)
		}
	}
	return raw
}

// alike compares descriptions.
func alike(got, want map[string]any) bool { return reflect.DeepEqual(got, want) }
