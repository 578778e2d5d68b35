package chart

import (
	"image"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"

	"purser/wallet"
)

// fonts are the Go fonts, which are embedded. They have Latin, Greek and Cyrillic letters.
type fonts struct {
	regular, bold *sfnt.Font
}

// newFonts reads the embedded fonts. It takes microseconds, since glyphs are read when they are drawn.
func newFonts() (fonts, error) {
	regular, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return fonts{}, err
	}
	bold, err := opentype.Parse(gobold.TTF)
	return fonts{regular, bold}, err
}

// Sizes of the texts in pixels. A phone shows a picture at about half its size.
const (
	bigSize    = 36
	normalSize = 24
	smallSize  = 22
)

// significant is how many digits of the lowest and the highest price are shown, and exact how many a price has at most. Two
// prices that differ are shown with as many digits as show it.
const (
	significant = 6
	exact       = 18
)

// alignment says which point of a text is at its x.
type alignment int

const (
	leftOf alignment = iota
	centred
	rightOf
)

// label is one text of the picture.
type label struct {
	text  string
	font  *sfnt.Font
	size  float64
	ink   ink
	x, y  int // y is the baseline
	align alignment
	room  int  // the widest that it may be, in pixels
	whole bool // it is made smaller, and not cut off: part of a price would be another price
}

// drawTexts draws all texts around the plot.
func (s *Series) drawTexts(c *canvas, f fonts) error {
	const whole = plotRight - plotLeft
	labels := []label{
		{s.Price, f.bold, bigSize, textInk, plotRight, 56, rightOf, whole - 160, true},
		{s.Change, f.bold, normalSize, s.Trend.ink(), plotRight, 92, rightOf, 300, true},
		{s.Span, f.regular, normalSize, mutedInk, plotLeft, 92, leftOf, whole - 320, false},
		{s.Source, f.regular, smallSize, mutedInk, plotLeft, 428, leftOf, whole, false},
	}
	if s.Warning != "" {
		labels = append(labels, label{s.Warning, f.regular, smallSize, warnInk, plotRight, 428, rightOf, whole / 2, false})
		labels[3].room = whole/2 - 20
	}
	if len(s.Shares) > 0 {
		labels = labels[:3]
	}
	for i, share := range s.Shares {
		labels = append(labels, label{share.Label, f.regular, smallSize, mutedInk, plotLeft + i*legendRoom + legendMark + 8, legendBaseline, leftOf, legendRoom - legendMark - 16, false})
	}
	points := s.shown()
	low, high := extremes(points)
	switch {
	case len(points) == 0:
		labels = append(labels, label{s.Empty, f.regular, normalSize, mutedInk, Width / 2, (plotTop+plotBottom)/2 - 14, centred, whole, false})
	case low.Compare(high) == 0:
		labels = append(labels, s.priceLabel(high, significant, (plotTop+plotBottom)/2-14, f))
	default:
		digits := digitsFor(low, high)
		labels = append(labels, s.priceLabel(high, digits, plotTop-10, f), s.priceLabel(low, digits, plotBottom+28, f))
	}
	for _, t := range s.ticks() {
		labels = append(labels, label{t.label, f.regular, smallSize, mutedInk, plotLeft + int(float64(whole)*s.share(t.at)), 386, centred, 120, false})
	}
	// The name has the room that the price leaves.
	taken, err := labels[0].width()
	if err != nil {
		return err
	}
	labels = append(labels, label{s.Name, f.bold, bigSize, textInk, plotLeft, 56, leftOf, whole - taken - 24, false})
	for i := range labels {
		if err := labels[i].draw(c); err != nil {
			return err
		}
	}
	return nil
}

// digitsFor returns how many digits two prices are shown with.
func digitsFor(low, high wallet.Price) int {
	digits := significant
	for digits < exact && low.Rounded(digits) == high.Rounded(digits) {
		digits++
	}
	return digits
}

// priceLabel is the label of one end of the price axis.
func (s *Series) priceLabel(p wallet.Price, digits, y int, f fonts) label {
	text := "$" + p.Rounded(digits).String()
	if s.Currency != "" {
		text = p.Rounded(digits).String() + " " + s.Currency
	}
	return label{text, f.regular, smallSize, mutedInk, plotLeft, y, leftOf, plotRight - plotLeft, true}
}

// longestText bounds how much of a text is looked at, in bytes.
const longestText = 200

// clean returns a text that the font can draw: one line, with a question mark for what it lacks.
func clean(text string, f *sfnt.Font) string {
	if len(text) > longestText {
		text = strings.ToValidUTF8(text[:longestText], "")
	}
	var buffer sfnt.Buffer
	return strings.Map(func(r rune) rune {
		switch glyph, err := f.GlyphIndex(&buffer, r); {
		case unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r): // invisible, or drawn over what is beside it
			return -1
		case r == utf8.RuneError || unicode.IsControl(r) || err != nil || glyph == 0:
			return '?'
		}
		return r
	}, text)
}

// smallestSize is the size below which nothing is readable, in pixels. A label that is shown whole and does not fit even so is
// cut off.
const smallestSize = 18

// fit returns the label's font in the size that it is drawn in, and as much of its text as there is room for. Nobody else may
// use the font at the same time. The caller closes it.
func (l *label) fit() (font.Face, string, error) {
	text, room := clean(l.text, l.font), fixed.I(l.room)
	for size := l.size; ; size -= 2 {
		face, err := opentype.NewFace(l.font, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
		switch {
		case err != nil:
			return nil, "", err
		case font.MeasureString(face, text) <= room:
			return face, text, nil
		case !l.whole || size <= smallestSize:
			return face, shortened(face, text, room), nil
		}
		if err := face.Close(); err != nil {
			return nil, "", err
		}
	}
}

// shortened returns the beginning of a text that is too long, with an ellipsis behind it.
func shortened(face font.Face, text string, room fixed.Int26_6) string {
	for text != "" {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
		if font.MeasureString(face, text+"…") <= room {
			return text + "…"
		}
	}
	return ""
}

// width returns how wide the label is drawn, in pixels.
func (l *label) width() (int, error) {
	face, text, err := l.fit()
	if err != nil {
		return 0, err
	}
	return font.MeasureString(face, text).Ceil(), face.Close()
}

// draw paints the label. A label that would leave the picture at a side is moved.
func (l *label) draw(c *canvas) error {
	face, text, err := l.fit()
	if err != nil || text == "" {
		return err
	}
	width := font.MeasureString(face, text).Ceil()
	x := l.x
	switch l.align {
	case centred:
		x -= width / 2
	case rightOf:
		x -= width
	}
	x = max(plotLeft, min(x, plotRight-width))
	drawer := font.Drawer{Dst: c.mask, Src: image.Opaque, Face: face, Dot: fixed.P(x, l.y)}
	drawer.DrawString(text)
	c.paint(l.ink)
	return face.Close()
}
