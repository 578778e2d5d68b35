package chat

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"github.com/boombuler/barcode/qr"
)

// qrModule is the size of a module in pixels. qrBorder is the white border in modules, which ISO/IEC 18004 requires.
const (
	qrModule = 10
	qrBorder = 4
)

// qrPicture returns a PNG with text as a QR code of error correction level M. An address is encoded as bare text: every
// wallet reads that, while some do not understand a solana: URI.
func qrPicture(text string) ([]byte, error) {
	matrix, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return nil, fmt.Errorf("draw a QR code: %w", err)
	}
	modules := matrix.Bounds().Dx()
	side := (modules + 2*qrBorder) * qrModule
	picture := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{color.White, color.Black})
	// The first row of pixels of each row of modules is drawn, and the others are copies of it.
	for row := range modules {
		rows := picture.Pix[(row+qrBorder)*qrModule*picture.Stride:][:qrModule*picture.Stride]
		for module := range modules {
			if light, _, _, _ := matrix.At(module, row).RGBA(); light != 0 {
				continue
			}
			for x := range qrModule {
				rows[(module+qrBorder)*qrModule+x] = 1
			}
		}
		for y := 1; y < qrModule; y++ {
			copy(rows[y*picture.Stride:], rows[:picture.Stride])
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		return nil, fmt.Errorf("draw a QR code: %w", err)
	}
	return out.Bytes(), nil
}
