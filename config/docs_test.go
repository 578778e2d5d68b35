package config

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTheSampleOfTheDocumentationLoads: docs/settings.md shows a file that purser serves with, once a real token is in it.
func TestTheSampleOfTheDocumentationLoads(t *testing.T) {
	page, err := os.ReadFile("../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	samples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(samples) == 0 {
		t.Fatal("docs/settings.md shows no file")
	}
	for _, sample := range samples {
		file := strings.Replace(sample[1], "123456:your-token", botToken, 1)
		if file == sample[1] {
			t.Error("the sample has no token to replace")
		}
		c, err := load(t, file, "PURSER_STORE_MASTER_KEY="+masterB64)
		if err != nil {
			t.Fatalf("%v in\n%s", err, file)
		}
		if err := c.CheckServe(); err != nil {
			t.Errorf("nobody can serve with it: %v\n%s", err, file)
		}
	}
}
