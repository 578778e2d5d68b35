package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// DefaultFile is read where no other file is named, if it exists.
const DefaultFile = "purser.yaml"

// Options are where settings come from. Fixed wins over a flag, that over the environment, that over
// the file, that over the built-in defaults.
type Options struct {
	File    string            // a YAML file that must exist; "": DefaultFile, if it does
	Environ []string          // as os.Environ gives it
	Flags   *pflag.FlagSet    // as AddFlags made it; nil for none
	Fixed   map[string]string // by key: how the sandbox points at its own world, whatever is set
}

// IsSet reports whether a key has a value in any source, valid or not.
func IsSet(o Options, name string) bool {
	values, _ := gather(o) // Load reports the problems
	return values[name] != ""
}

// Load reads and checks all settings. Its error has one line for each problem, and shows no secret.
func Load(o Options) (Config, error) {
	values, problems := gather(o)
	c, wrong := check(values)
	problems = append(problems, wrong...)
	if len(problems) > 0 {
		return Config{}, errors.Join(problems...)
	}
	return c, nil
}

// gather lays the sources over each other.
func gather(o Options) (map[string]string, []error) {
	values := map[string]string{}
	for _, k := range keys() {
		values[k.name] = k.fallback
	}
	var problems []error
	fromFile, wrong := readFile(o.File)
	problems = append(problems, wrong...)
	environ := environment(o.Environ)
	for _, name := range strayVariables(environ) {
		problems = append(problems, fmt.Errorf("%s: there is no such setting: check its spelling", name))
	}
	for _, k := range keys() {
		if value, ok := fromFile[k.name]; ok {
			values[k.name] = value
		}
		// An empty variable counts as not set, as container files often leave them.
		if value := environ[Variable(k.name)]; value != "" {
			values[k.name] = value
		}
		if o.Flags != nil && !k.secret && o.Flags.Changed(Flag(k.name)) {
			values[k.name] = o.Flags.Lookup(Flag(k.name)).Value.String()
		}
		values[k.name] = strings.TrimSpace(values[k.name])
	}
	for name, value := range o.Fixed {
		if _, known := values[name]; !known {
			problems = append(problems, fmt.Errorf("there is no setting %q", name))
			continue
		}
		values[name] = value
	}
	return values, problems
}

func environment(environ []string) map[string]string {
	variables := map[string]string{}
	for _, line := range environ {
		if name, value, ok := strings.Cut(line, "="); ok {
			variables[name] = value
		}
	}
	return variables
}

// readFile reads the YAML file into text by key. It looks at the value's kind as well: YAML takes
// an unquoted 0123 for the number 83.
func readFile(name string) (map[string]string, []error) {
	file := name
	if file == "" {
		file = DefaultFile
	}
	raw, err := os.ReadFile(file)
	switch {
	case name == "" && errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, []error{fmt.Errorf("settings file: %w", err)}
	}
	v := viper.New()
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(raw)); err != nil {
		return nil, []error{unreadable(file, err)}
	}
	values := map[string]string{}
	var problems []error
	for _, name := range v.AllKeys() {
		if v.Get(name) == nil {
			continue // a name without a value, or a section whose lines are all comments
		}
		at := slices.IndexFunc(keys(), func(k key) bool { return k.name == name })
		if at < 0 {
			problems = append(problems, fmt.Errorf("%s: there is no setting %q: check its spelling", file, name))
			continue
		}
		value, err := text(v.Get(name), keys()[at].list)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %s: %w", file, name, err))
			continue
		}
		values[name] = value
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return values, problems
}

// unreadable returns an error with the line where the file is broken. The parser's own message quotes the file, which holds
// secrets.
func unreadable(file string, err error) error {
	line := regexp.MustCompile(`line (\d+)`).FindStringSubmatch(err.Error())
	if line == nil {
		return fmt.Errorf("%s: this is not valid YAML with a mapping at its top", file)
	}
	return fmt.Errorf("%s: line %s is not valid YAML here", file, line[1])
}

func text(value any, list bool) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case []any:
		if !list {
			break
		}
		items := make([]string, len(v))
		for i, item := range v {
			s, ok := item.(string)
			if !ok || strings.Contains(s, ",") {
				return "", errors.New("a list must hold texts: put each in quotes")
			}
			items[i] = s
		}
		return strings.Join(items, ","), nil
	}
	return "", errors.New("must be text: put it in quotes")
}
