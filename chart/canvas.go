package chart

import (
	"image"
	"image/color"

	"golang.org/x/image/draw"
	"golang.org/x/image/vector"
)

// ink is something that is painted with.
type ink int

// The inks of a picture. A picture uses one of the last three.
const (
	textInk  ink = iota // names and prices
	mutedInk            // everything beside them
	warnInk
	upInk
	downInk
	flatInk
	inks // how many there are
)

// ground is a colour that covers an area, and that inks are painted on.
type ground int

// The grounds. Each trend has its own ground below the line.
const (
	background ground = iota
	grid
	upGround
	downGround
	flatGround
	grounds // how many there are
)

// Colours of the picture. It has a dark background of its own, so it looks the same in a light and in a dark chat. A test
// computes the contrast of each ink.
var (
	inkColors = [inks]color.RGBA{
		{0xf4, 0xf7, 0xfa, 0xff}, {0xae, 0xb9, 0xc5, 0xff}, {0xff, 0xc8, 0x57, 0xff},
		{0x3f, 0xd9, 0x94, 0xff}, {0xff, 0x7b, 0x72, 0xff}, {0x8a, 0xb8, 0xff, 0xff},
	}
	groundColors = [grounds]color.RGBA{
		{0x14, 0x1b, 0x24, 0xff}, {0x33, 0x3e, 0x4b, 0xff},
		{0x19, 0x35, 0x32, 0xff}, {0x36, 0x27, 0x2d, 0xff}, {0x21, 0x30, 0x42, 0xff},
	}
)

// shareColors are the colours of shares, in their order. Nothing is painted on them, so they need no mixtures.
var shareColors = [MaxShares]color.RGBA{{0x8a, 0xb8, 0xff, 0xff}, {0x3f, 0xd9, 0x94, 0xff}, {0xff, 0xc8, 0x57, 0xff}, {0xae, 0xb9, 0xc5, 0xff}}

// levels is how many steps there are between a ground and an ink, for smooth edges. All steps of all pairs fit into the 256
// colours of a palette.
const levels = 8

// canvas is a picture while it is painted. Each pixel is a ground, or a mixture of a ground with one ink.
type canvas struct {
	picture *image.Paletted
	mask    *image.Alpha // what the next paint covers, and how much
	path    *vector.Rasterizer
}

func newCanvas() *canvas {
	all := image.Rect(0, 0, Width, Height)
	return &canvas{image.NewPaletted(all, palette()), image.NewAlpha(all), vector.NewRasterizer(Width, Height)}
}

// palette returns the grounds, after them for each ground the mixtures with each ink (colorIndex), and last the colours of shares.
func palette() color.Palette {
	var p color.Palette
	for _, g := range groundColors {
		p = append(p, g)
	}
	for _, g := range groundColors {
		for _, i := range inkColors {
			for level := 1; level <= levels; level++ {
				mix := func(a, b uint8) uint8 { return uint8((int(a)*(levels-level) + int(b)*level) / levels) }
				p = append(p, color.RGBA{mix(g.R, i.R), mix(g.G, i.G), mix(g.B, i.B), 0xff})
			}
		}
	}
	for _, c := range shareColors {
		p = append(p, c)
	}
	return p
}

// shareIndex is the place in the palette of the colour of a share.
func shareIndex(n int) uint8 { return uint8(int(grounds)+int(grounds)*int(inks)*levels) + uint8(n) }

// block fills a rectangle with the colour of a share.
func (c *canvas) block(n int, area image.Rectangle) {
	area = area.Intersect(c.picture.Bounds())
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			c.picture.SetColorIndex(x, y, shareIndex(n))
		}
	}
}

// colorIndex is the place in the palette of an ink on a ground, at a level of 1 to levels.
func colorIndex(g ground, i ink, level int) uint8 {
	return uint8(int(grounds) + (int(g)*int(inks)+int(i))*levels + level - 1)
}

// groundOf returns the ground of a pixel, and how much of an ink covers it.
func groundOf(index uint8) (g ground, level int) {
	n := int(index) - int(grounds)
	if n < 0 {
		return ground(index), 0
	}
	return ground(n / (int(inks) * levels)), n%levels + 1
}

// cover adds to the mask what the shapes of the path enclose, and begins a new path.
func (c *canvas) cover() {
	c.path.DrawOp = draw.Over
	c.path.Draw(c.mask, c.mask.Bounds(), image.Opaque, image.Point{})
	c.path.Reset(Width, Height)
}

// paint puts an ink where the mask is, and clears the mask. Where two inks meet, the one that covers more stays.
func (c *canvas) paint(i ink) {
	for at, alpha := range c.mask.Pix {
		if alpha == 0 {
			continue
		}
		c.mask.Pix[at] = 0
		level := (int(alpha)*levels + 127) / 255
		if g, before := groundOf(c.picture.Pix[at]); level > 0 && level >= before {
			c.picture.Pix[at] = colorIndex(g, i, level)
		}
	}
}

// fill puts a ground where the mask covers at least half of a pixel, and clears the mask.
func (c *canvas) fill(g ground) {
	for at, alpha := range c.mask.Pix {
		if alpha >= 0x80 {
			c.picture.Pix[at] = uint8(g)
		}
		c.mask.Pix[at] = 0
	}
}

// dashes draws a horizontal broken line of the grid.
func (c *canvas) dashes(y int) {
	const dash, pause = 6, 6
	for x := plotLeft; x < plotRight; x++ {
		if (x-plotLeft)%(dash+pause) < dash {
			c.picture.SetColorIndex(x, y, uint8(grid))
		}
	}
}
