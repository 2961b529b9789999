package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tallystick/events"
)

// firstLoad is what a browser may have to fetch before it shows something.
const firstLoad = 150 << 10

var imported = regexp.MustCompile(`(?:from|import)\s*["']\./([^"']+)["']`)

// needs are the files that a file cannot do without, itself included.
func needs(t *testing.T, name string, into map[string]bool) {
	t.Helper()
	f, ok := Find(name)
	if !ok {
		t.Fatalf("there is no file %s", name)
	}
	if into[name] {
		return
	}
	into[name] = true
	if path.Ext(name) == ".js" {
		for _, m := range imported.FindAllSubmatch(f.Body, -1) {
			needs(t, string(m[1]), into)
		}
	}
}

// What a page loads before it shows something is small.
func TestFirstLoad(t *testing.T) {
	index, _ := Find(Index)
	all := map[string]bool{}
	needs(t, Index, all)
	for _, m := range regexp.MustCompile(`(?:src|href)="/console/([^"]+)"`).FindAllSubmatch(index.Body, -1) {
		needs(t, string(m[1]), all)
	}
	sum := 0
	for name := range all {
		f, _ := Find(name)
		sum += len(f.Gzip)
	}
	t.Logf("%d files, %d bytes compressed", len(all), sum)
	if sum > firstLoad {
		t.Errorf("the first load is %d bytes, at most %d are wanted", sum, firstLoad)
	}
	if len(all) < 10 || all["uplot.js"] || all["verify.js"] || all["qrcode.js"] {
		t.Errorf("what is loaded later is loaded at first, or too little was found: %v", all)
	}
}

// Every module that is imported, also later, is there.
func TestImports(t *testing.T) {
	later := regexp.MustCompile(`import\('\./([^']+)'\)`)
	for name, f := range files() {
		if path.Ext(name) != ".js" || vendored(t)[name] != "" || name == "verify.js" {
			continue
		}
		for _, m := range slices.Concat(imported.FindAllSubmatch(f.Body, -1), later.FindAllSubmatch(f.Body, -1)) {
			if _, ok := Find(string(m[1])); !ok {
				t.Errorf("%s imports %s, which is not there", name, m[1])
			}
		}
	}
}

// vendored are the files that come from npm, with their hashes.
func vendored(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("vendor/hashes.txt")
	if err != nil {
		t.Fatal(err)
	}
	hashes := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		hash, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("hashes.txt: %q", line)
		}
		hashes[name] = hash
	}
	return hashes
}

// The libraries are those that were read when they were pinned.
func TestVendored(t *testing.T) {
	hashes := vendored(t)
	if len(hashes) == 0 {
		t.Fatal("no hashes")
	}
	for name, hash := range hashes {
		f, ok := Find(name)
		if sum := sha256.Sum256(f.Body); !ok || hex.EncodeToString(sum[:]) != hash {
			t.Errorf("%s is not the file that was pinned", name)
		}
	}
	pinned, err := os.ReadFile("vendor/package.json")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsAny(pinned, "^~*") {
		t.Error("a version in package.json is not pinned")
	}
}

// The pages check a ledger by the very program that people can run from a file.
func TestChecker(t *testing.T) {
	published, err := os.ReadFile("../../docs/verify/verify.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if f, _ := Find("verify.js"); !bytes.Equal(f.Body, published) {
		t.Error("web/verify.js is not docs/verify/verify.mjs: run vendor/refresh.sh")
	}
}

// Nothing on the pages makes markup or code out of text, and nothing comes
// from elsewhere.
func TestTextStaysText(t *testing.T) {
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySetInnerHTML|\beval\(|new Function|javascript:|localStorage`)
	elsewhere := regexp.MustCompile(`https?://[^"'\s<]+`)
	for name, f := range files() {
		if vendored(t)[name] != "" || name == "licences.txt" || name == "icon.svg" || name == "verify.js" {
			continue
		}
		if found := forbidden.Find(f.Body); found != nil && !(name == "auth.js" && string(found) == "localStorage") { // it keeps whose cookies there are
			t.Errorf("%s uses %s", name, found)
		}
		for _, url := range elsewhere.FindAll(f.Body, -1) {
			if !bytes.HasPrefix(url, []byte("http://192.168")) { // an example in a comment
				t.Errorf("%s names %s", name, url)
			}
		}
	}
	index, _ := Find(Index)
	if regexp.MustCompile(`<style|style=|<script(>| [^>]*>[^<])|\son[a-z]+=`).Match(index.Body) {
		t.Error("the page has an inline script or style")
	}
}

// A file is found by its name and by no other way.
func TestFind(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../console.go", "web/main.js", "/main.js", "MAIN.JS"} {
		if _, ok := Find(name); ok {
			t.Errorf("%q was found", name)
		}
	}
	f, ok := Find("main.js")
	if !ok || f.ContentType != "text/javascript; charset=utf-8" || len(f.ETag) != 18 || len(f.Gzip) >= len(f.Body) {
		t.Errorf("main.js: %v %q %q", ok, f.ContentType, f.ETag)
	}
}

// Everything that is common to all systems is told in words of its own, not
// member by member.
func TestEveryEventIsTold(t *testing.T) {
	words, ok := Find("words.js")
	if !ok {
		t.Fatal("there are no words")
	}
	for name := range events.Core() {
		if !bytes.Contains(words.Body, []byte("'"+name+"':")) {
			t.Errorf("words.js has no words for %s", name)
		}
	}
}
