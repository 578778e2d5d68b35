//go:build ignore

// Command confusables_gen writes confusables.txt from Unicode's file of that name
// (https://www.unicode.org/Public/security/latest/confusables.txt), which it reads from its standard input:
//
//	go run confusables_gen.go < path/to/unicode/confusables.txt > confusables.txt
//
// Ideographs are left out: no word that this package protects is written with them. Rows are sorted, so that
// one is found by a binary search.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() {
	var rows []string
	version, date := "", ""
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		text := strings.TrimPrefix(lines.Text(), "\ufeff")
		if v, ok := strings.CutPrefix(text, "# Version: "); ok {
			version = v
		}
		if d, ok := strings.CutPrefix(text, "# Date: "); ok {
			date = d
		}
		text, _, _ = strings.Cut(text, "#")
		parts := strings.Split(text, ";")
		if len(parts) != 3 {
			continue
		}
		from, err := strconv.ParseUint(strings.TrimSpace(parts[0]), 16, 32)
		if err != nil {
			log.Fatal(err)
		}
		if ideograph(from) {
			continue
		}
		to := ""
		for _, field := range strings.Fields(parts[1]) {
			r, err := strconv.ParseUint(field, 16, 32)
			if err != nil {
				log.Fatal(err)
			}
			to += " " + fmt.Sprintf("%05X", r)
		}
		rows = append(rows, fmt.Sprintf("%05X%s\n", from, to))
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
	slices.Sort(rows)
	fmt.Printf(`# Characters that look alike: the rows of Unicode's confusables.txt without ideographs, each a character and its
# prototype (UTS 39, Unicode Security Mechanisms), by confusables_gen.go.
# Source: https://www.unicode.org/Public/security/, version %s, of %s
# Copyright (c) Unicode, Inc. Unicode License V3 (SPDX: Unicode-3.0), https://www.unicode.org/license.txt
`, version, date)
	fmt.Print(strings.Join(rows, ""))
}

// ideograph tells of a character of the CJK blocks.
func ideograph(r uint64) bool {
	return r >= 0x2E80 && r <= 0x2FDF || r >= 0x3400 && r <= 0x9FFF || r >= 0xF900 && r <= 0xFAFF || r >= 0x20000
}
