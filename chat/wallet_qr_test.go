package chat

import (
	"bytes"
	"image/png"
	"testing"

	"github.com/boombuler/barcode/qr"
)

func TestPictureHoldsTheCodeWithABorder(t *testing.T) {
	const address = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"
	raw, err := qrPicture(address)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	code, err := qr.Encode(address, qr.M, qr.Auto)
	if err != nil {
		t.Fatal(err)
	}
	modules := code.Bounds().Dx()
	if side := picture.Bounds().Dx(); side != (modules+8)*qrModule {
		t.Fatalf("the picture is %d wide for %d modules", side, modules)
	}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			mx, my := x/qrModule-4, y/qrModule-4
			light, _, _, _ := picture.At(x, y).RGBA()
			want := uint32(0xffff)
			if mx >= 0 && my >= 0 && mx < modules && my < modules {
				want, _, _, _ = code.At(mx, my).RGBA()
			}
			if (light == 0) != (want == 0) {
				t.Fatalf("pixel %d,%d has %x, want %x", x, y, light, want)
			}
		}
	}
}
