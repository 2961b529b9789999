package rules

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/go-json-experiment/json"
)

// Check holds decoded data against the bounds written in its struct tags, the
// same tags that the API's schema is made of:
//
//	minimum, maximum        whole numbers, and numbers in a list or map
//	minLength, maxLength    characters of a string
//	minItems, maxItems      of a list or map
//	enum                    words separated by commas
//
// A member without omitzero or omitempty must be present. Members of nested
// structs, lists and maps are checked too; the first complaint is returned, an
// *Invalid with the path.
func Check(data jsontext.Value, v reflect.Value) error {
	return check("", data, v, "")
}

func check(path string, data jsontext.Value, v reflect.Value, tag reflect.StructTag) error {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if v.Type() == reflect.TypeFor[jsontext.Value]() {
		return nil
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		return checkNumber(path, v.Int(), tag)
	case reflect.String:
		return checkString(path, v.String(), tag)
	case reflect.Slice:
		var items []jsontext.Value
		if err := json.Unmarshal(data, &items); err != nil {
			return nil // a type with a form of its own has checked itself
		}
		if err := checkCount(path, v.Len(), tag); err != nil {
			return err
		}
		for i := range min(v.Len(), len(items)) {
			if err := check(join(path, strconv.Itoa(i)), items[i], v.Index(i), tag); err != nil {
				return err
			}
		}
	case reflect.Map:
		return checkMap(path, data, v, tag)
	case reflect.Struct:
		return checkStruct(path, data, v)
	}
	return nil
}

func checkMap(path string, data jsontext.Value, v reflect.Value, tag reflect.StructTag) error {
	if err := checkCount(path, v.Len(), tag); err != nil {
		return err
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(data, &members); err != nil {
		return nil
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, k := range keys {
		if err := CheckName(k.String()); err != nil {
			return &Invalid{Field: path, Reason: "has a name that " + err.Error()}
		}
		if err := check(join(path, k.String()), members[k.String()], v.MapIndex(k), tag); err != nil {
			return err
		}
	}
	return nil
}

func checkStruct(path string, data jsontext.Value, v reflect.Value) error {
	if data.Kind() == 'n' { // it would pass for an object whose members are all zero
		return &Invalid{Field: path, Reason: "is a JSON null: must be an object"}
	}
	if data.Kind() != '{' {
		return nil // a type with a form of its own has checked itself
	}
	members := membersOf(data)
	typ := v.Type()
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if f.Anonymous && name == "" {
			if err := checkStruct(path, data, v.Field(i)); err != nil {
				return err
			}
			continue
		}
		member, present := find(members, name)
		if !present {
			if !strings.Contains(rest, "omit") {
				return &Invalid{Field: join(path, name), Reason: "is missing"}
			}
			continue
		}
		if err := check(join(path, name), member, v.Field(i), f.Tag); err != nil {
			return err
		}
	}
	return nil
}

// member is one member of a JSON object.
type member struct {
	name  string
	value jsontext.Value
}

func find(members []member, name string) (jsontext.Value, bool) {
	for _, m := range members {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// membersOf cuts an object, which has been read strictly before, into its members.
// It knows no more of the grammar than where strings and nesting end.
func membersOf(object jsontext.Value) []member {
	members := make([]member, 0, 8)
	var name string
	start, depth := 0, 0
	end := func(i int) {
		if value := bytes.TrimSpace(object[start:i]); len(value) > 0 {
			members = append(members, member{name, jsontext.Value(value)})
		}
	}
	for i := 0; i < len(object); i++ {
		switch object[i] {
		case '"':
			from := i
			for i++; i < len(object) && object[i] != '"'; i++ {
				if object[i] == '\\' {
					i++
				}
			}
			if i >= len(object) {
				return members
			}
			if depth == 1 && start == 0 {
				name = unquoted(object[from : i+1])
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 && start > 0 {
				end(i)
				return members
			}
		case ':':
			if depth == 1 && start == 0 {
				start = i + 1
			}
		case ',':
			if depth == 1 {
				end(i)
				start = 0
			}
		}
	}
	return members
}

func unquoted(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	name, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return "" // it was read before, so this does not happen; no field has this name
	}
	return string(name)
}

func checkNumber(path string, n int64, tag reflect.StructTag) error {
	if lo, ok := bound(tag, "minimum"); ok && n < lo {
		return &Invalid{Field: path, Reason: fmt.Sprintf("is %d: must be at least %d", n, lo)}
	}
	if hi, ok := bound(tag, "maximum"); ok && n > hi {
		return &Invalid{Field: path, Reason: fmt.Sprintf("is %d: must be at most %d", n, hi)}
	}
	return nil
}

func checkString(path, s string, tag reflect.StructTag) error {
	if words := tag.Get("enum"); words != "" && !slices.Contains(strings.Split(words, ","), s) {
		return &Invalid{Field: path, Reason: fmt.Sprintf("is %s: must be one of %s", strconv.Quote(s), strings.ReplaceAll(words, ",", ", "))}
	}
	n := int64(len([]rune(s)))
	if lo, ok := bound(tag, "minLength"); ok && n < lo {
		return &Invalid{Field: path, Reason: fmt.Sprintf("has %d characters: must have at least %d", n, lo)}
	}
	if hi, ok := bound(tag, "maxLength"); ok && n > hi {
		return &Invalid{Field: path, Reason: fmt.Sprintf("has %d characters: must have at most %d", n, hi)}
	}
	return nil
}

func checkCount(path string, n int, tag reflect.StructTag) error {
	if lo, ok := bound(tag, "minItems"); ok && int64(n) < lo {
		return &Invalid{Field: path, Reason: fmt.Sprintf("has %d items: must have at least %d", n, lo)}
	}
	if hi, ok := bound(tag, "maxItems"); ok && int64(n) > hi {
		return &Invalid{Field: path, Reason: fmt.Sprintf("has %d items: must have at most %d", n, hi)}
	}
	return nil
}

func bound(tag reflect.StructTag, name string) (int64, bool) {
	s, ok := tag.Lookup(name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic("rules: tag " + name + " is " + s)
	}
	return n, true
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func dotted(pointer string) string {
	pointer = strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(pointer)
}
