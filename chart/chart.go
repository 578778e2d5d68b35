// Package chart draws the price of a token, or the value of a portfolio and what it consists of, over time as a PNG. It knows nothing of where prices come from, and has no
// sentence of its own: the caller gives every text of the picture but prices and times. Draw draws a picture, and CanDraw
// reports whether the font covers a text:
//
//	png, err := chart.Draw(chart.Series{Name: "SOL", Price: "$147.48", Span: "24 hours", From: from, To: to, Points: points})
//
// Prices are exact decimals. They become floating-point numbers only to find the pixel that stands for them. The same series
// always gives the same bytes.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"strings"
	"time"

	"purser/wallet"
)

// Width and Height are the size of a picture in pixels.
const (
	Width  = 800
	Height = 450
)

// MaxPoints is the most points that a picture is drawn from. There are fewer columns of pixels.
const MaxPoints = 2000

// MaxShares is how many shares a picture has room for.
const MaxShares = 4

// Share is a part of a whole.
type Share struct {
	Label string
	Part  int // in thousandths of the whole
}

// CanDraw reports whether the font has every character of a text. It has no Chinese and no Arabic ones, for example.
func CanDraw(text string) bool {
	f, err := newFonts()
	return err == nil && clean(text, f.regular) == strings.ReplaceAll(text, "\u00a0", " ")
}

// Trend says in which colour the line is drawn.
type Trend int

// The trends.
const (
	Flat Trend = iota
	Up
	Down
)

// Series is what a picture shows. Every text may be empty, and may come from strangers: what does not fit is cut off, and
// characters that the font lacks are replaced.
type Series struct {
	Name    string // of the token
	Span    string // what time the picture is about, such as "24 hours"
	Price   string // the newest price
	Change  string // how it moved
	Trend   Trend
	Warning string // why the reader should be careful; drawn in another colour
	Source  string // who says so
	Empty   string // stands in the place of the line if there are no points

	// Currency is the code of the currency of the points, which stands behind the labels of the axis; "": dollars, with $ before them.
	Currency string
	// Shares are what the whole consists of. They are drawn as a bar in the place of Source and Warning, at most MaxShares.
	Shares []Share

	From, To time.Time           // the ends of the time axis
	Points   []wallet.PricePoint // in any order; those outside the axis are left out, and so are those without a price
	// Gap is the longest time between two points that are joined. Beyond it nothing is known, and nothing is drawn.
	Gap time.Duration
}

// Draw returns a picture as a PNG. It fails if the axis has no length, or if there are more than MaxPoints points or MaxShares shares.
func Draw(s Series) ([]byte, error) {
	if !s.From.Before(s.To) {
		return nil, errors.New("chart: the time axis has no length")
	}
	if len(s.Shares) > MaxShares {
		return nil, fmt.Errorf("chart: %d shares are more than %d", len(s.Shares), MaxShares)
	}
	if len(s.Points) > MaxPoints {
		return nil, fmt.Errorf("chart: %d points are more than %d", len(s.Points), MaxPoints)
	}
	f, err := newFonts()
	if err != nil {
		return nil, fmt.Errorf("chart: read the fonts: %w", err)
	}
	c := newCanvas()
	s.drawPlot(c)
	s.drawShares(c)
	if err := s.drawTexts(c, f); err != nil {
		return nil, fmt.Errorf("chart: draw the texts: %w", err)
	}
	var out bytes.Buffer
	if err := png.Encode(&out, c.picture); err != nil {
		return nil, fmt.Errorf("chart: write the picture: %w", err)
	}
	return out.Bytes(), nil
}

// ink returns the colour of the line.
func (t Trend) ink() ink {
	switch t {
	case Up:
		return upInk
	case Down:
		return downInk
	}
	return flatInk
}
