package chart

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/wallet"
)

var update = flag.Bool("update", false, "draw the pictures in testdata again")

var begin = time.Date(2026, 11, 22, 12, 40, 0, 0, time.UTC)

// wave is a series of prices that move up and down around one.
func wave(points int, span time.Duration, around string, moves float64) Series {
	s := Series{Name: "SOL", Span: "24 hours", Price: "$147.48", Change: "▲ 1.25 %", Trend: Up, Source: "Price from jupiter · times in UTC",
		Empty: "No prices of this time are known", From: begin, To: begin.Add(span), Gap: span / 12}
	middle := rational(wallet.MustPrice(around))
	base, _ := middle.Float64()
	for i := range points {
		at := float64(i) / float64(max(points-1, 1))
		value := base * (1 + moves*math.Sin(at*11) + moves*at + moves*0.2*math.Sin(at*97))
		s.Points = append(s.Points, wallet.PricePoint{At: begin.Add(time.Duration(at * float64(span))), Price: wallet.MustPrice(fmt.Sprintf("%.40f", value))})
	}
	return s
}

// pictures are what testdata shows, by the name of its file.
func pictures() map[string]Series {
	with := func(s Series, change func(*Series)) Series {
		s.Points = slices.Clone(s.Points)
		change(&s)
		return s
	}
	day := wave(288, 24*time.Hour, "146", 0.02)
	return map[string]Series{
		"day": day,
		"gaps": with(day, func(s *Series) {
			s.Points = slices.Concat(s.Points[40:90], s.Points[130:131], s.Points[170:280])
			s.Trend, s.Change = Down, "▼ 3.10 %"
		}),
		"empty":  with(day, func(s *Series) { s.Points, s.Trend, s.Change = nil, Flat, "" }),
		"single": with(day, func(s *Series) { s.Points = s.Points[200:201] }),
		"two": with(day, func(s *Series) {
			s.Points = []wallet.PricePoint{s.Points[10], s.Points[250]}
			s.Gap = 24 * time.Hour
		}),
		"flat": with(day, func(s *Series) {
			for i := range s.Points {
				s.Points[i].Price = wallet.MustPrice("1")
			}
			s.Name, s.Price, s.Change, s.Trend = "USDC", "$1", "0.00 %", Flat
		}),
		"tiny": with(wave(168, 7*24*time.Hour, "0.0000012", 0.3), func(s *Series) {
			s.Name, s.Span, s.Price, s.Change = "DezX…B263", "7 days", "$0.00000123456", "▲ 999.99 %"
			s.Warning = "Not in purser's list"
		}),
		"smallest": with(wave(60, time.Hour, "0.000000000000000000000000012345", 0.3), func(s *Series) {
			s.Span, s.Price, s.Change = "1 hour", "$0.000000000000000000000000012345", "▲ 100000000.00 %"
		}),
		"huge": with(wave(180, 30*24*time.Hour, "87654321.5", 0.01), func(s *Series) { s.Span, s.Price, s.Trend, s.Change = "30 days", "$87654321.5", Down, "▼ 99.99 %" }),
		"portfolio": with(wave(30, 30*24*time.Hour, "1234.56", 0.1), func(s *Series) {
			s.Name, s.Span, s.Price, s.Change, s.Currency = "Portfolio", "30 days", "1291.20 EUR", "▲ 4.60 %", "EUR"
			s.Shares = []Share{{"SOL 62.1 %", 621}, {"SOL (staked) 20.0 %", 200}, {"USDC 10.0 %", 100}, {"Other 7.9 %", 79}}
		}),
		"hostile": with(day, func(s *Series) {
			s.Name = "W\u202e\u0301😀中\n<b>" + strings.Repeat("W", 300)
			s.Source, s.Warning, s.Span = strings.Repeat("source ", 40), strings.Repeat("warning ", 40), strings.Repeat("span ", 40)
		}),
	}
}

func drawn(t testing.TB, s Series) (image.Image, []byte) {
	t.Helper()
	raw, err := Draw(s)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return picture, raw
}

// TestPicturesAreThoseOfTestdata compares pixels, since another version of Go may compress them otherwise.
func TestPicturesAreThoseOfTestdata(t *testing.T) {
	for name, s := range pictures() {
		picture, raw := drawn(t, s)
		file := filepath.Join("testdata", name+".png")
		if *update {
			if err := os.WriteFile(file, raw, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := png.Decode(bytes.NewReader(kept))
		if err != nil {
			t.Fatal(err)
		}
		// The last bit of a float may depend on the processor, and with it the edge of a letter.
		if differing := differing(picture, want); differing > 50 {
			t.Errorf("%s: %d pixels differ (go test ./chart -update draws it again)", name, differing)
		}
		if size := picture.Bounds().Size(); size != (image.Point{Width, Height}) {
			t.Errorf("%s is %v", name, size)
		}
		if len(raw) > 40_000 {
			t.Errorf("%s has %d bytes", name, len(raw))
		}
		if _, again := drawn(t, s); !bytes.Equal(raw, again) {
			t.Errorf("%s is another file when it is drawn again", name)
		}
	}
}

// differing counts the pixels of two pictures that are not the same.
func differing(a, b image.Image) (n int) {
	for y := range Height {
		for x := range Width {
			if a.At(x, y) != b.At(x, y) {
				n++
			}
		}
	}
	return n
}

func TestPointsMayComeInAnyOrder(t *testing.T) {
	s := pictures()["gaps"]
	want, _ := drawn(t, s)
	half := len(s.Points) / 2
	s.Points = slices.Concat(s.Points[half:], s.Points[:half])
	if got, _ := drawn(t, s); differing(got, want) > 0 {
		t.Error("points in another order are another picture")
	}
}

// luminance is the relative luminance of WCAG 2.
func luminance(c color.RGBA) float64 {
	part := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*part(c.R) + 0.7152*part(c.G) + 0.0722*part(c.B)
}

func contrast(a, b color.RGBA) float64 {
	light, dark := luminance(a), luminance(b)
	return (max(light, dark) + 0.05) / (min(light, dark) + 0.05)
}

// TestTextsAndLinesStandOut: WCAG 2 asks for 4.5 of text and for 3 of lines.
func TestTextsAndLinesStandOut(t *testing.T) {
	for i, c := range inkColors {
		if got := contrast(c, groundColors[background]); got < 4.5 {
			t.Errorf("ink %d has a contrast of %.1f only", i, got)
		}
	}
	for i, g := range map[ink]ground{upInk: upGround, downInk: downGround, flatInk: flatGround} {
		if got := contrast(inkColors[i], groundColors[g]); got < 3 {
			t.Errorf("line %d has a contrast of %.1f to the area below it", i, got)
		}
	}
	if got := contrast(color.RGBA{255, 255, 255, 255}, color.RGBA{A: 255}); math.Abs(got-21) > 0.01 {
		t.Errorf("white on black has a contrast of %f", got)
	}
}

func TestThePaletteHasAPlaceForEveryMixture(t *testing.T) {
	p := palette()
	if len(p) > 256 {
		t.Fatalf("%d colours", len(p))
	}
	for g := range grounds {
		if at, level := groundOf(uint8(g)); at != g || level != 0 || p[g] != color.Color(groundColors[g]) {
			t.Errorf("ground %d is read as %d at level %d", g, at, level)
		}
		for i := range inks {
			for level := 1; level <= levels; level++ {
				if at, got := groundOf(colorIndex(g, i, level)); at != g || got != level {
					t.Errorf("ground %d with ink %d at level %d is read as %d at level %d", g, i, level, at, got)
				}
			}
			if p[colorIndex(g, i, levels)] != color.Color(inkColors[i]) {
				t.Errorf("ink %d on ground %d is not its own colour", i, g)
			}
		}
	}
}

// columns returns in which columns of a picture the line has its own colour.
func columns(picture image.Image, i ink) (with [Width]bool) {
	for x := range Width {
		for y := plotTop - 4; y <= plotBottom+4; y++ {
			if picture.At(x, y) == color.Color(inkColors[i]) {
				with[x] = true
			}
		}
	}
	return with
}

func TestNothingIsDrawnWhereNothingIsKnown(t *testing.T) {
	picture, _ := drawn(t, pictures()["gaps"])
	with := columns(picture, downInk)
	at := func(i int) int { return plotLeft + (plotRight-plotLeft)*i/287 }
	for x := range Width {
		known := x >= at(40)-3 && x <= at(89)+3 || x >= at(170)-3 && x <= at(279)+7 || x >= at(130)-7 && x <= at(130)+7
		if with[x] && !known {
			t.Errorf("the line is in column %d, where no price is known", x)
		}
	}
	for _, x := range []int{at(60), at(130), at(220)} {
		if !with[x] {
			t.Errorf("the line is not in column %d", x)
		}
	}
}

// TestARisingPriceRises reads the rows of a straight line.
func TestARisingPriceRises(t *testing.T) {
	s := Series{From: begin, To: begin.Add(time.Hour), Gap: time.Hour, Trend: Up}
	for i, price := range []string{"100", "101", "102"} {
		s.Points = append(s.Points, wallet.PricePoint{At: begin.Add(time.Duration(i) * 30 * time.Minute), Price: wallet.MustPrice(price)})
	}
	// The order does not matter, and neither do points that are not to be seen.
	s.Points[0], s.Points[2] = s.Points[2], s.Points[0]
	s.Points = append(s.Points, wallet.PricePoint{At: begin.Add(time.Minute)},
		wallet.PricePoint{At: begin.Add(-time.Minute), Price: wallet.MustPrice("1")}, wallet.PricePoint{At: begin.Add(2 * time.Hour), Price: wallet.MustPrice("900")})
	picture, _ := drawn(t, s)
	for _, p := range []image.Point{{plotLeft + 1, plotBottom}, {Width / 2, (plotTop + plotBottom) / 2}, {plotRight - 1, plotTop}} {
		if picture.At(p.X, p.Y) != color.Color(inkColors[upInk]) {
			t.Errorf("the line does not go through %v", p)
		}
	}
	if got := picture.At(Width/2, plotBottom-20); got != color.Color(groundColors[upGround]) {
		t.Errorf("below the line is %v", got)
	}
	if got := picture.At(Width/2, plotTop+20); got != color.Color(groundColors[background]) {
		t.Errorf("above the line is %v", got)
	}
}

// TestPricesThatHardlyDifferHaveRowsOfTheirOwn: a float would round the difference away.
func TestPricesThatHardlyDifferHaveRowsOfTheirOwn(t *testing.T) {
	low, middle, high := wallet.MustPrice("100000000.000000001"), wallet.MustPrice("100000000.000000002"), wallet.MustPrice("100000000.000000003")
	place := placer(low, high)
	if place(low) != plotBottom || place(high) != plotTop || place(middle) != (plotTop+plotBottom)/2 {
		t.Errorf("rows %v, %v, %v", place(low), place(middle), place(high))
	}
}

func TestAPriceIsNeverCutOff(t *testing.T) {
	f, err := newFonts()
	if err != nil {
		t.Fatal(err)
	}
	for _, price := range []string{"$147.48", "$0.000000000000000000000000012345", "$999999999"} {
		l := label{text: price, font: f.bold, size: bigSize, room: plotRight - plotLeft - 160, whole: true}
		face, text, err := l.fit()
		if err != nil || text != price {
			t.Errorf("%s is shown as %s, %v", price, text, err)
		}
		if face.Metrics().Height.Round() < smallestSize {
			t.Errorf("%s is %v high", price, face.Metrics().Height)
		}
	}
	l := label{text: strings.Repeat("W", 100), font: f.bold, size: bigSize, room: 200}
	if face, text, err := l.fit(); err != nil || !strings.HasSuffix(text, "…") || len(text) < 5 {
		t.Errorf("a long name is shown as %q, %v, %v", text, face, err)
	}
}

func TestTextsOfStrangersAreDrawable(t *testing.T) {
	f, err := newFonts()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"SOL": "SOL", "a\nb\tc": "a b c", "\u202eLOS\u200b": "LOS", "e\u0301": "e", "😀中": "??", "\x00\xff": "??", "Жe€": "Жe€", "DezX…B263": "DezX…B263",
		"▲▼−": "▲▼−",
	} {
		if got := clean(text, f.bold); got != want {
			t.Errorf("%q is drawn as %q, want %q", text, got, want)
		}
	}
	if got := clean(strings.Repeat("é", 1_000_000), f.regular); got != strings.Repeat("é", longestText/2) {
		t.Errorf("%d bytes of a long text are drawn", len(got))
	}
}

func TestTheTimeAxisHasRoundTimes(t *testing.T) {
	for _, c := range []struct {
		span time.Duration
		want string
	}{
		{time.Hour, "12:40 12:50 13:00 13:10 13:20 13:30 13:40"},
		{24 * time.Hour, "18:00 00:00 06:00 12:00"},
		{7 * day, "23 Nov 25 Nov 27 Nov 29 Nov"},
		{30 * day, "23 Nov 30 Nov 7 Dec 14 Dec 21 Dec"},
		{10 * 365 * day, ""},
		{time.Minute, "12:40 12:41"},
	} {
		s := Series{From: begin.In(time.FixedZone("", 3600)), To: begin.Add(c.span)}
		var got []string
		for _, tick := range s.ticks() {
			got = append(got, tick.label)
		}
		if len(got) > maxTicks+1 {
			t.Errorf("%v has %d labels", c.span, len(got))
		}
		if c.want != "" && strings.Join(got, " ") != c.want {
			t.Errorf("%v has the labels %v, want %s", c.span, got, c.want)
		}
	}
}

func TestWhatCannotBeDrawnIsRefused(t *testing.T) {
	if _, err := Draw(Series{From: begin, To: begin}); err == nil {
		t.Error("an axis without length is drawn")
	}
	many := wave(MaxPoints+1, time.Hour, "1", 0.1)
	if _, err := Draw(many); err == nil {
		t.Error("too many points are drawn")
	}
	many.Points = many.Points[:MaxPoints]
	drawn(t, many)
	if _, err := Draw(Series{From: begin, To: begin.Add(1)}); err != nil {
		t.Errorf("a nanosecond without texts: %v", err)
	}
}

func TestLowestAndHighestPriceAreToldApart(t *testing.T) {
	for _, c := range []struct {
		low, high string
		want      int
	}{
		{"147.4781", "151.2", 6}, {"1.00001", "1.00002", 6}, {"1.000001", "1.000002", 7}, {"0.0000012", "0.0000013", 6},
		{"1.00000000000000001", "1.00000000000000002", 18},
	} {
		low, high := wallet.MustPrice(c.low), wallet.MustPrice(c.high)
		if got := digitsFor(low, high); got != c.want || low.Rounded(got) == high.Rounded(got) {
			t.Errorf("%s and %s are shown with %d digits, want %d", c.low, c.high, got, c.want)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	s := wave(300, 24*time.Hour, "146", 0.02)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Draw(s); err != nil {
			b.Fatal(err)
		}
	}
}

// TestWhatTheFontLacksIsKnown, so that a picture is not full of question marks.
func TestWhatTheFontLacksIsKnown(t *testing.T) {
	for text, can := range map[string]bool{"24 hours": true, "Сутки, 30 дней": true, "Geçmiş fiyat yok — İşlem ığüşöç": true, "Número de días ¿qué? ñ": true, "Preços não conhecidos": true,
		"30 天": false, "٣٠ يومًا": false, "30 يوم": false, "a\u00a0b": true} {
		if CanDraw(text) != can {
			t.Errorf("%q can be drawn: %t", text, !can)
		}
	}
}

// TestASharesBarIsAsLongAsItsPart, to the pixel, and parts beyond the whole are cut off.
func TestASharesBarIsAsLongAsItsPart(t *testing.T) {
	s := wave(30, 24*time.Hour, "100", 0.1)
	s.Shares = []Share{{"a", 500}, {"b", 0}, {"c", 250}, {"d", 900}}
	picture, _ := drawn(t, s)
	counts := map[color.Color]int{}
	for x := range Width {
		counts[color.RGBAModel.Convert(picture.At(x, barTop+2))]++
	}
	for i, want := range []int{368, 0, 184, 184} {
		if got := counts[shareColors[i]]; got != want {
			t.Errorf("share %d has %d pixels, not %d", i, got, want)
		}
	}
	s.Shares = append(s.Shares, Share{"e", 1})
	if _, err := Draw(s); err == nil {
		t.Error("five shares are drawn")
	}
}
