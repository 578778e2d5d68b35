// Package chart draws the price of a token over time as a PNG. It knows nothing of where prices come from, and has no
// sentence of its own: the caller gives every text of the picture but prices and times. Draw is its only function:
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

	From, To time.Time           // the ends of the time axis
	Points   []wallet.PricePoint // in any order; those outside the axis are left out, and so are those without a price
	// Gap is the longest time between two points that are joined. Beyond it nothing is known, and nothing is drawn.
	Gap time.Duration
}

// Draw returns a picture as a PNG. It fails if the axis has no length, or if there are more than MaxPoints points.
func Draw(s Series) ([]byte, error) {
	if !s.From.Before(s.To) {
		return nil, errors.New("chart: the time axis has no length")
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
