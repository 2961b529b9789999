package replay

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// firstDifference finds where two commits part.
func firstDifference(campaign string, n int64, stored, decided [][]byte) error {
	for i := range min(len(stored), len(decided)) {
		if bytes.Equal(stored[i], decided[i]) {
			continue
		}
		d := &Divergence{Campaign: campaign, N: n + int64(i)}
		d.Field, d.Stored, d.Decided = difference("", stored[i], decided[i])
		return d
	}
	d := &Divergence{Campaign: campaign, N: n + int64(min(len(stored), len(decided))), Field: "cmd"}
	d.Stored = fmt.Sprintf("%d records of this command", len(stored))
	d.Decided = fmt.Sprintf("%d records of this command", len(decided))
	return d
}

// difference finds the first member, in the order stored, whose values differ.
func difference(path string, stored, decided jsontext.Value) (field, s, d string) {
	if stored.Kind() == decided.Kind() {
		switch stored.Kind() {
		case '{':
			if f, s, d, found := objectDifference(path, stored, decided); found {
				return f, s, d
			}
		case '[':
			if f, s, d, found := arrayDifference(path, stored, decided); found {
				return f, s, d
			}
		}
	}
	return path, text(stored), text(decided)
}

func objectDifference(path string, stored, decided jsontext.Value) (field, s, d string, found bool) {
	was, is := members(stored), members(decided)
	for _, name := range append(was.names, is.names...) {
		a, b := was.values[name], is.values[name]
		if !bytes.Equal(a, b) {
			field, s, d = difference(join(path, name), a, b)
			return field, s, d, true
		}
	}
	return "", "", "", false
}

func arrayDifference(path string, stored, decided jsontext.Value) (field, s, d string, found bool) {
	var was, is []jsontext.Value
	if json.Unmarshal(stored, &was) != nil || json.Unmarshal(decided, &is) != nil {
		return "", "", "", false
	}
	for i := range max(len(was), len(is)) {
		var a, b jsontext.Value
		if i < len(was) {
			a = was[i]
		}
		if i < len(is) {
			b = is[i]
		}
		if !bytes.Equal(a, b) {
			field, s, d = difference(join(path, strconv.Itoa(i)), a, b)
			return field, s, d, true
		}
	}
	return "", "", "", false
}

type object struct {
	names  []string
	values map[string]jsontext.Value
}

// members reads an object and keeps the order of its members.
func members(v jsontext.Value) object {
	o := object{values: map[string]jsontext.Value{}}
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := dec.ReadToken(); err != nil {
		return o
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return o
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return o
		}
		o.names = append(o.names, key)
		o.values[key] = value.Clone()
	}
	return o
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// text shows a value in an error, cut to a readable length.
func text(v jsontext.Value) string {
	const longest = 200
	switch {
	case v == nil:
		return "nothing"
	case len(v) > longest:
		return string(bytes.ToValidUTF8(v[:longest], nil)) + "…"
	}
	return string(v)
}
