package rules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Options are a campaign's choices, complete: every option of its system has
// a value, written as text ("true", "3", "safe"); and its setting, the weapons,
// skills and the like that it defines itself.
type Options struct {
	values map[string]string
	// Setting is of the type System.Setting points to, never nil for a system
	// that has one. Nobody changes it.
	Setting any
}

// Values are all options as they are recorded.
func (o Options) Values() map[string]string { return maps.Clone(o.values) }

// Is reports whether an option has a value. An option that was never declared
// is a fault of the program.
func (o Options) Is(name, value string) bool { return o.get(name) == value }

// On reports whether a yes-or-no option is "true".
func (o Options) On(name string) bool { return o.get(name) == "true" }

// Int is a whole-number option.
func (o Options) Int(name string) int {
	n, err := strconv.Atoi(o.get(name))
	if err != nil {
		panic("rules: option " + name + " is no number")
	}
	return n
}

func (o Options) get(name string) string {
	v, ok := o.values[name]
	if !ok {
		panic("rules: option " + name + " was never declared")
	}
	return v
}

// Resolve fills in defaults and refuses what a system does not offer. Values
// may be JSON strings, booleans or whole numbers. The setting is the system's
// empty one.
func Resolve(s System, asked map[string]jsontext.Value) (Options, error) {
	offered := s.Describe().Options
	o := Options{values: make(map[string]string, len(offered)), Setting: s.Setting()}
	for _, opt := range offered {
		o.values[opt.Name] = opt.Default
	}
	names := make([]string, 0, len(asked))
	for name := range asked {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		i := slices.IndexFunc(offered, func(opt Option) bool { return opt.Name == name })
		if i < 0 {
			return Options{}, &Invalid{Field: "options." + name, Reason: "this system has no such option"}
		}
		v, err := scalar(asked[name])
		if err == nil {
			err = offered[i].check(v)
		}
		if err != nil {
			return Options{}, &Invalid{Field: "options." + name, Reason: err.Error()}
		}
		o.values[name] = v
	}
	return o, nil
}

func scalar(v jsontext.Value) (string, error) {
	switch v.Kind() {
	case '"':
		var s string
		err := json.Unmarshal(v, &s)
		return s, err
	case 't', 'f', '0':
		return string(v), nil
	}
	return "", fmt.Errorf("must be a word, a whole number, true or false")
}

func (o Option) check(v string) error {
	if len(o.Values) > 0 {
		if !slices.Contains(o.Values, v) {
			return fmt.Errorf("is %q: must be one of %s", v, strings.Join(o.Values, ", "))
		}
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < o.Min || n > o.Max {
		return fmt.Errorf("is %q: must be a whole number from %d to %d", v, o.Min, o.Max)
	}
	return nil
}
