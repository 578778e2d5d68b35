package chat

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"github.com/boombuler/barcode/qr"
)

// A module of the picture in pixels, and the white border that readers need (ISO/IEC 18004 asks
// for four modules).
const (
	qrModule = 10
	qrBorder = 4
)

// qrPicture draws text as a QR code. An address is drawn as its bare text: every wallet reads that,
// while some stumble over a solana: URI.
func qrPicture(text string) ([]byte, error) {
	matrix, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return nil, fmt.Errorf("draw a QR code: %w", err)
	}
	modules := matrix.Bounds().Dx()
	side := (modules + 2*qrBorder) * qrModule
	picture := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{color.White, color.Black})
	for y := range side {
		for x := range side {
			mx, my := x/qrModule-qrBorder, y/qrModule-qrBorder
			if mx < 0 || my < 0 || mx >= modules || my >= modules {
				continue
			}
			if light, _, _, _ := matrix.At(mx, my).RGBA(); light == 0 {
				picture.SetColorIndex(x, y, 1)
			}
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		return nil, fmt.Errorf("draw a QR code: %w", err)
	}
	return out.Bytes(), nil
}
