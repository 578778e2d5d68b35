package chart

import (
	"cmp"
	"image"
	"math"
	"math/big"
	"slices"
	"time"

	"purser/wallet"
)

// The area of the line, in pixels.
const (
	plotLeft, plotRight = 32, Width - 32
	plotTop, plotBottom = 142, 322
)

const (
	lineWidth = 4.0 // pixels
	dotRadius = 6.0 // of the newest point, and of points that have no neighbour
)

// pixel is a place in the picture.
type pixel struct{ x, y float64 }

// drawPlot draws the grid, the line and its newest point.
func (s *Series) drawPlot(c *canvas) {
	points := s.shown()
	low, high := extremes(points)
	if low.Compare(high) == 0 {
		c.dashes((plotTop + plotBottom) / 2)
	} else {
		c.dashes(plotTop)
		c.dashes(plotBottom)
	}
	if len(points) == 0 {
		return
	}
	runs := s.runs(points, low, high)
	for _, run := range runs {
		c.area(run)
	}
	c.fill(upGround + ground(s.Trend.ink()-upInk))
	for _, run := range runs {
		c.line(run)
	}
	last := runs[len(runs)-1]
	c.dot(last[len(last)-1])
	c.cover()
	c.paint(s.Trend.ink())
}

// The bar of shares and the legend below it, in pixels.
const (
	barTop, barBottom = 398, 408
	legendBaseline    = 436
	legendMark        = 14
	legendRoom        = (plotRight - plotLeft) / MaxShares
)

// drawShares draws the bar, and the mark of each share before its label.
func (s *Series) drawShares(c *canvas) {
	x, sum := plotLeft, 0
	for i, share := range s.Shares {
		sum = min(sum+max(share.Part, 0), 1000)
		end := plotLeft + (plotRight-plotLeft)*sum/1000
		c.block(i, image.Rect(x, barTop, end, barBottom))
		x = end
		left := plotLeft + i*legendRoom
		c.block(i, image.Rect(left, legendBaseline-legendMark, left+legendMark, legendBaseline))
	}
}

// shown returns the points that have a price and a place on the time axis, oldest first.
func (s *Series) shown() []wallet.PricePoint {
	points := slices.DeleteFunc(slices.Clone(s.Points), func(p wallet.PricePoint) bool {
		return !p.Price.Known() || p.At.Before(s.From) || p.At.After(s.To)
	})
	slices.SortStableFunc(points, func(a, b wallet.PricePoint) int { return a.At.Compare(b.At) })
	return points
}

// extremes returns the lowest and the highest price; unknown prices if there are no points.
func extremes(points []wallet.PricePoint) (low, high wallet.Price) {
	if len(points) == 0 {
		return low, high
	}
	compare := func(a, b wallet.PricePoint) int { return a.Price.Compare(b.Price) }
	return slices.MinFunc(points, compare).Price, slices.MaxFunc(points, compare).Price
}

// runs returns the pixels of the points, in one run for each part of the line without a gap.
func (s *Series) runs(points []wallet.PricePoint, low, high wallet.Price) (runs [][]pixel) {
	place := placer(low, high)
	for i, p := range points {
		at := pixel{plotLeft + float64(plotRight-plotLeft)*s.share(p.At), place(p.Price)}
		if i == 0 || p.At.Sub(points[i-1].At) > s.Gap {
			runs = append(runs, nil)
		}
		last := len(runs) - 1
		runs[last] = append(runs[last], at)
	}
	return runs
}

// share returns how far along the time axis a time is, from 0 to 1.
func (s *Series) share(at time.Time) float64 {
	return float64(at.Sub(s.From)) / float64(s.To.Sub(s.From))
}

// placer returns the function that finds the row of a price. Differences are taken before anything is rounded, so prices that
// differ by little have different rows.
func placer(low, high wallet.Price) func(wallet.Price) float64 {
	bottom := rational(low)
	height := new(big.Rat).Sub(rational(high), bottom)
	if height.Sign() == 0 {
		return func(wallet.Price) float64 { return (plotTop + plotBottom) / 2 }
	}
	return func(p wallet.Price) float64 {
		above := new(big.Rat).Sub(rational(p), bottom)
		share, _ := above.Quo(above, height).Float64()
		return plotBottom - share*(plotBottom-plotTop)
	}
}

// rational returns the exact value of a price; 0 if it is unknown.
func rational(p wallet.Price) *big.Rat {
	r, ok := new(big.Rat).SetString(p.String())
	if !ok {
		return new(big.Rat)
	}
	return r
}

// area covers what is below a run.
func (c *canvas) area(run []pixel) {
	c.polygon(append(append([]pixel{{run[0].x, plotBottom}}, run...), pixel{run[len(run)-1].x, plotBottom}))
	c.cover()
}

// line adds a run to the path: a rectangle for each part and a circle at each point, which rounds the corners.
func (c *canvas) line(run []pixel) {
	if len(run) == 1 {
		c.dot(run[0])
		c.cover()
		return
	}
	for i, p := range run {
		c.circle(p, lineWidth/2)
		if i == 0 {
			continue
		}
		from := run[i-1]
		length := math.Hypot(p.x-from.x, p.y-from.y)
		if length == 0 {
			continue
		}
		// All shapes turn the same way round, so that overlapping ones do not cancel each other.
		dx, dy := (p.y-from.y)/length*lineWidth/2, (from.x-p.x)/length*lineWidth/2
		c.polygon([]pixel{{from.x + dx, from.y + dy}, {p.x + dx, p.y + dy}, {p.x - dx, p.y - dy}, {from.x - dx, from.y - dy}})
	}
	c.cover()
}

// dot adds the mark of a point to the path.
func (c *canvas) dot(at pixel) { c.circle(at, dotRadius) }

// circle adds a circle to the path.
func (c *canvas) circle(at pixel, radius float64) {
	const corners = 16
	shape := make([]pixel, corners)
	for i := range shape {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		shape[i] = pixel{at.x + radius*cos, at.y + radius*sin}
	}
	c.polygon(shape)
}

// polygon adds a shape to the path.
func (c *canvas) polygon(shape []pixel) {
	for i, p := range shape {
		if i == 0 {
			c.path.MoveTo(float32(p.x), float32(p.y))
			continue
		}
		c.path.LineTo(float32(p.x), float32(p.y))
	}
	c.path.ClosePath()
}

// tick is a label of the time axis.
type tick struct {
	at    time.Time
	label string
}

// steps are the distances between labels of the time axis that people count in.
var steps = []time.Duration{
	time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour,
	12 * time.Hour, day, 2 * day, 7 * day, 14 * day, 30 * day, 90 * day, 365 * day,
}

const day = 24 * time.Hour

// maxTicks is how many labels the time axis has room for.
const maxTicks = 6

// ticks returns the labels of the time axis, in UTC: hours if they are less than a day apart, else dates.
func (s *Series) ticks() (ticks []tick) {
	span := s.To.Sub(s.From)
	i, _ := slices.BinarySearchFunc(steps, span/maxTicks, cmp.Compare[time.Duration])
	step := steps[min(i, len(steps)-1)]
	if span/step > maxTicks { // longer than any step is made for
		step = span / maxTicks
	}
	layout := "15:04"
	if step >= day {
		layout = "2 Jan"
	}
	for at := s.From.UTC().Truncate(step); !at.After(s.To); at = at.Add(step) {
		if !at.Before(s.From) {
			ticks = append(ticks, tick{at, at.Format(layout)})
		}
	}
	return ticks
}
