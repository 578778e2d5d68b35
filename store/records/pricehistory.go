package records

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// PriceHistory is a store.PriceHistory over two sets of days:
//
//	minutes: of each day  mint, hour of the day (1 byte)   -> samples, numbered by minute
//	hours:   of each month, as the day that it begins with  mint, day of the month (1 byte) -> samples, numbered by hour
//
// The samples of a row lie in the order of their numbers, which are unique. A sample is its number (1 byte), the exponent of the
// price (1 byte, signed), and the mantissa (uvarint). A row that cannot be decoded reads as empty. Nothing in it is secret or
// about a person, so rows are neither sealed nor tagged: what somebody changes in the files is a line in a chart.
type PriceHistory struct {
	minutes, hours engine.Days
}

var _ store.PriceHistory = (*PriceHistory)(nil)

// priceSamples is the one table of a day.
const priceSamples engine.Table = 0

// PriceHistoryLayout describes the tables of a day to the engine.
func PriceHistoryLayout() engine.Layout { return engine.Layout{{Name: "samples"}} }

// OpenPriceHistory makes the history over days that were opened with PriceHistoryLayout. It closes them.
func OpenPriceHistory(minutes, hours engine.Days) *PriceHistory {
	return &PriceHistory{minutes: minutes, hours: hours}
}

// How long prices are kept, and how exactly.
const (
	minutesKept   = 48 * time.Hour
	hoursKept     = 366 * 24 * time.Hour
	historyDigits = 9 // significant digits
)

// sample is one price of a row.
type sample struct {
	number byte
	price  wallet.Price
}

// resolution says where the samples of one kind lie.
type resolution struct {
	days engine.Days
	each time.Duration                                    // between two samples
	file func(time.Time) string                           // the day of Days
	row  func(time.Time) (row, number byte)               // within the file
	at   func(file time.Time, row, number byte) time.Time // the time of a sample
	next func(file time.Time) time.Time                   // where the next file begins
}

// byMinute and byHour are the two resolutions.
func (h *PriceHistory) byMinute() resolution {
	return resolution{days: h.minutes, each: time.Minute,
		file: func(t time.Time) string { return t.Format(time.DateOnly) },
		row:  func(t time.Time) (byte, byte) { return byte(t.Hour()), byte(t.Minute()) },
		at: func(file time.Time, row, number byte) time.Time {
			return file.Add(time.Duration(row)*time.Hour + time.Duration(number)*time.Minute)
		},
		next: func(file time.Time) time.Time { return file.AddDate(0, 0, 1) },
	}
}

func (h *PriceHistory) byHour() resolution {
	return resolution{days: h.hours, each: time.Hour,
		file: func(t time.Time) string { return monthOf(t).Format(time.DateOnly) },
		row:  func(t time.Time) (byte, byte) { return byte(t.Day()), byte(t.Hour()) },
		at: func(file time.Time, row, number byte) time.Time {
			return file.AddDate(0, 0, int(row)-1).Add(time.Duration(number) * time.Hour)
		},
		next: func(file time.Time) time.Time { return file.AddDate(0, 1, 0) },
	}
}

// monthOf is when the month of a time begins, in UTC.
func monthOf(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC) }

// SavePoints writes one row for each token and resolution.
func (h *PriceHistory) SavePoints(at time.Time, prices []wallet.TokenPrice) error {
	at = at.UTC()
	for _, r := range []resolution{h.byMinute(), h.byHour()} {
		row, number := r.row(at)
		err := r.days.Update(r.file(at), func(t engine.Tables) error {
			for _, price := range prices {
				if !price.Price.Known() {
					continue
				}
				key := append(slices.Clone(price.Mint[:]), row)
				samples := merge(decodeSamples(t.Get(priceSamples, key)), sample{number, price.Price.Rounded(historyDigits)}, true)
				if err := t.Put(priceSamples, key, encodeSamples(samples)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("save the history of prices: %w", err)
		}
	}
	return nil
}

// Fill writes the points of each file in one Update.
func (h *PriceHistory) Fill(now time.Time, mint wallet.Address, step time.Duration, points []wallet.PricePoint) error {
	for _, one := range []struct {
		resolution
		kept time.Duration
	}{{h.byMinute(), minutesKept}, {h.byHour(), hoursKept}} {
		if one.each < time.Hour && step >= time.Hour { // they would pass for all that is known of these minutes
			continue
		}
		files := map[string][]wallet.PricePoint{}
		for i, point := range points {
			point.At = point.At.UTC()
			age := now.Sub(point.At)
			// Of several points of one sample the last one counts.
			last := i == len(points)-1 || !points[i+1].At.UTC().Truncate(one.each).Equal(point.At.Truncate(one.each))
			if age >= 0 && age < one.kept && point.Price.Known() && last {
				files[one.file(point.At)] = append(files[one.file(point.At)], point)
			}
		}
		for file, points := range files {
			err := one.days.Update(file, func(t engine.Tables) error {
				for _, point := range points {
					row, number := one.row(point.At)
					key := append(slices.Clone(mint[:]), row)
					samples := merge(decodeSamples(t.Get(priceSamples, key)), sample{number, point.Price.Rounded(historyDigits)}, false)
					if err := t.Put(priceSamples, key, encodeSamples(samples)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("fill the history of prices: %w", err)
			}
		}
	}
	return nil
}

// Points reads file after file.
func (h *PriceHistory) Points(ctx context.Context, mint wallet.Address, since, until time.Time, step time.Duration) ([]wallet.PricePoint, error) {
	r := h.byMinute()
	if step >= time.Hour {
		r = h.byHour()
	}
	since, until = since.UTC(), until.UTC()
	var out []wallet.PricePoint
	first, err := time.Parse(time.DateOnly, r.file(since))
	if err != nil {
		return nil, fmt.Errorf("read the history of prices: %w", err)
	}
	for file := first; file.Before(until); file = r.next(file) {
		err := r.days.View(ctx, r.file(file), func(t engine.Tables) error {
			for key, value := range t.Scan(priceSamples, engine.Prefix(mint[:])) {
				if len(key) != len(mint)+1 {
					continue
				}
				for _, s := range decodeSamples(value) {
					at := r.at(file, key[len(mint)], s.number)
					if at.Before(since) || !at.Before(until) {
						continue
					}
					point := wallet.PricePoint{At: at, Price: s.price}
					// The last price of a step replaces those before it.
					if last := len(out) - 1; last >= 0 && out[last].At.Truncate(step).Equal(at.Truncate(step)) {
						out[last] = point
					} else {
						out = append(out, point)
					}
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the history of prices: %w", err)
		}
	}
	return out, nil
}

// Drop removes whole days and months.
func (h *PriceHistory) Drop(ctx context.Context, now time.Time) error {
	_, err := h.minutes.Drop(ctx, now.Add(-minutesKept))
	// A month is stored as its first day, which ends long before the month does.
	_, errHours := h.hours.Drop(ctx, monthOf(now.UTC().Add(-hoursKept)))
	if err = errors.Join(err, errHours); err != nil {
		return fmt.Errorf("drop old prices: %w", err)
	}
	return nil
}

// Close closes the files.
func (h *PriceHistory) Close() error { return errors.Join(h.minutes.Close(), h.hours.Close()) }

// merge adds a sample to those of a row, in order. One with the same number is replaced only if replace is set.
func merge(samples []sample, s sample, replace bool) []sample {
	at, found := slices.BinarySearchFunc(samples, s.number, func(one sample, number byte) int { return int(one.number) - int(number) })
	switch {
	case !found:
		return slices.Insert(samples, at, s)
	case replace:
		samples[at] = s
	}
	return samples
}

// encodeSamples writes a row.
func encodeSamples(samples []sample) []byte {
	var out []byte
	for _, s := range samples {
		out = binary.AppendUvarint(append(out, s.number, byte(s.price.Exponent)), s.price.Mantissa)
	}
	return out
}

// decodeSamples reads a row. What is not a row, and every sample that is no price, is left out.
func decodeSamples(raw []byte) (out []sample) {
	for last := -1; len(raw) > 2; {
		number, exponent := raw[0], int8(raw[1])
		mantissa, n := binary.Uvarint(raw[2:])
		if n <= 0 || int(number) <= last {
			return nil
		}
		raw, last = raw[2+n:], int(number)
		// The form that ParsePrice accepts: bounds and trailing zeros.
		price, err := wallet.NewPrice(mantissa, int(exponent))
		if err == nil {
			out = append(out, sample{number, price})
		}
	}
	if len(raw) > 0 {
		return nil
	}
	return out
}
