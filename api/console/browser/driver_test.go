// Package browser drives the console in a real browser: it makes a campaign,
// sits down as game master and as player, and looks at what stands on the
// pages.
//
// The tests are skipped where there is no Chromium, unless TALLYSTICK_BROWSER
// is "required". With TALLYSTICK_SCREENSHOTS=folder the pages are also
// photographed, light, dark and on a phone.
package browser

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	// What the built program is made of, so that a result is not taken from the
	// test cache when a page or the server has changed.
	_ "tallystick/api"
	_ "tallystick/api/console"
)

// What a page waits for comes in well under a second. The bounds are for
// machines that do much else at the same time.
const (
	patience     = 5 * time.Minute // with one test
	patienceOnce = time.Minute     // with one thing that a page shall show
	// with a page that is loaded, before it is loaded again
	patienceBegin = 20 * time.Second
)

// insecureHost is this computer by a name that a browser does not trust, as a
// phone sees the laptop at the table.
const insecureHost = "laptop.test"

var program string // the built program

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Fprintln(os.Stderr, "SKIPPED with -short: the console is not tried in a browser")
		os.Exit(0)
	}
	if browserPath() == "" {
		if os.Getenv("TALLYSTICK_BROWSER") == "required" {
			fmt.Fprintln(os.Stderr, "no Chromium is installed, and TALLYSTICK_BROWSER requires one")
			os.Exit(1)
		}
		fmt.Fprintln(os.Stderr, "SKIPPED: no Chromium is installed, the console is not tried in a browser")
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "tallystick-browser")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "tallystick")
	if out, err := exec.Command("go", "build", "-o", program, "tallystick/cmd/tallystick").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func browserPath() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// server is a running program.
type server struct {
	t       *testing.T
	dir     string
	listen  string
	url     string
	admin   string
	process *exec.Cmd
}

// serve starts the program on a ledger of its own.
func serve(t *testing.T) *server {
	s := &server{t: t, dir: filepath.Join(t.TempDir(), "data"), listen: "127.0.0.1:0"}
	s.start()
	t.Cleanup(s.stop)
	token, err := os.ReadFile(filepath.Join(s.dir, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	s.admin = strings.TrimSpace(string(token))
	return s
}

func (s *server) start() {
	s.t.Helper()
	cmd := exec.Command(program, "serve", "--data", s.dir, "--listen", s.listen)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.t.Fatalf("the server did not start: %v\n%s", err, errors.String())
	}
	s.process = cmd
	s.url = strings.Fields(line[strings.Index(line, "http"):])[0]
	s.listen = strings.TrimPrefix(s.url, "http://") // the same again after a restart
}

func (s *server) stop() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(syscall.SIGTERM)
	_ = s.process.Wait()
	s.process = nil
}

// ask sends a request, and reads the answer into out.
func (s *server) ask(method, path, token string, body, out any) int {
	s.t.Helper()
	var sent io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		sent = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, s.url+path, sent)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", uuid.NewString())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if res.StatusCode >= 300 && out != nil {
		s.t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, raw)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, raw)
		}
	}
	return res.StatusCode
}

// table is a campaign made over the API.
type table struct {
	*server
	ID, GM string
}

type tokens struct {
	Campaign string `json:"campaign"`
	GM       struct {
		Token string `json:"token"`
	} `json:"gm"`
}

func (s *server) campaign(system string) *table {
	s.t.Helper()
	var made tokens
	s.ask("POST", "/v1/campaigns", s.admin, map[string]any{"name": "Night watch", "system": system}, &made)
	return &table{server: s, ID: made.Campaign, GM: made.GM.Token}
}

// player adds somebody and gives their token.
func (g *table) player(handle string) string {
	g.t.Helper()
	var made struct {
		Token string `json:"token"`
	}
	g.ask("POST", "/v1/campaigns/"+g.ID+"/participants", g.GM, map[string]any{"handle": handle, "role": "player"}, &made)
	return made.Token
}

type answer struct {
	Command string `json:"command"`
	First   int64  `json:"first"`
	Last    int64  `json:"last"`
	Records []struct {
		N    int64          `json:"n"`
		Type string         `json:"type"`
		Data jsontext.Value `json:"data"`
	} `json:"records"`
}

// first is the first record of a type.
func (a answer) first(kind string) int64 {
	for _, r := range a.Records {
		if r.Type == kind {
			return r.N
		}
	}
	return -1
}

// give gives a command as the game master, with dice typed in if there are any.
func (g *table) give(kind string, data map[string]any, faces ...int) answer {
	g.t.Helper()
	command := map[string]any{"type": kind, "data": data}
	if len(faces) > 0 {
		command["dice"] = map[string]any{"faces": faces}
	}
	var a answer
	g.ask("POST", "/v1/campaigns/"+g.ID+"/commands", g.GM, command, &a)
	return a
}

// records counts what the ledger holds.
func (g *table) records() int64 {
	g.t.Helper()
	var c struct {
		Counts struct {
			Records int64 `json:"records"`
		} `json:"counts"`
	}
	g.ask("GET", "/v1/campaigns/"+g.ID, g.GM, nil, &c)
	return c.Counts.Records
}

var stats = map[string]any{"str": 1, "con": 0, "dex": 1, "per": 0, "int": 0, "wits": 0, "cha": 0, "app": 0}

// character makes somebody of RPGamix.
func (g *table) character(name, owner string) string {
	g.t.Helper()
	data := map[string]any{
		"name": name, "kind": "npc", "creation": "free",
		"sheet": map[string]any{"stats": stats, "skills": map[string]any{"Short Sword": 3, "Parry": 2, "First Aid": 2, "Dodge": 1}},
	}
	if owner != "" {
		data["kind"], data["owner"] = "pc", owner
	}
	return g.give("character.create", data).Command
}

// chrome is one browser for all tests; every page has its own profile in it.
var chrome = sync.OnceValues(func() (context.Context, error) {
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browserPath()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP "+insecureHost+" 127.0.0.1"), chromedp.WindowSize(1280, 900))
	ctx, _ := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, _ = chromedp.NewContext(ctx)
	return ctx, chromedp.Do(ctx, chromedp.Navigate("about:blank"))
})

// page is a window of the browser with cookies and storage of its own.
type page struct {
	t      *testing.T
	ctx    context.Context
	mu     sync.Mutex
	errors []string
}

// open opens a window in a profile of its own.
func open(t *testing.T) *page {
	t.Helper()
	browser, err := chrome()
	if err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return openIn(t, browser, chromedp.WithNewBrowserContext())
}

// tab opens another tab of the same browser.
func (p *page) tab() *page {
	p.t.Helper()
	return openIn(p.t, p.ctx)
}

func openIn(t *testing.T, parent context.Context, options ...chromedp.ContextOption) *page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent, options...)
	ctx, cancelTime := context.WithTimeout(ctx, patience)
	p := &page{t: t, ctx: ctx}
	t.Cleanup(func() { cancelTime(); cancel() })
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatalf("open a window: %v", err)
	}
	p.do("make ready", chromedp.EmulateViewport(1280, 900), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, cdplog.Enable, cdp.Empty{}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: helpers})
		return err
	}))
	return p
}

// hear collects what goes wrong on a page: scripts that fail, and what its
// policy forbids.
func (p *page) hear(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		p.errors = append(p.errors, text)
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == "error" && !strings.Contains(e.Entry.Text, "Failed to load resource") {
			p.errors = append(p.errors, e.Entry.Text)
		}
	}
}

// helpers run in every page: they find what people would see and press.
const helpers = `
window.shown = e => e.checkVisibility() && !e.closest('[inert]')
window.area = () => [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body
window.called = e => (e.getAttribute('aria-label') || e.innerText || '').trim().replace(/\s+/g, ' ').toLowerCase()
window.names = e => [window.called(e), window.called(e).split(':')[0], ...[...e.querySelectorAll('strong, .person-name')].map(window.called)]
window.find = (name, selector = 'button, a, summary, label.chip, label.choice, label.check') =>
  [...window.area().querySelectorAll(selector)].filter(window.shown).find(e => window.names(e).includes(name.toLowerCase()))
window.row = text => [...document.querySelectorAll('.row button')].filter(window.shown).find(e => window.called(e).includes(text.toLowerCase()))
window.fieldOf = name => {
  const label = [...window.area().querySelectorAll('label[for]')].filter(window.shown).find(l => window.called(l).startsWith(name.toLowerCase()))
  return label && document.getElementById(label.htmlFor)
}
window.put = (name, text) => {
  const field = window.fieldOf(name)
  const kind = field.tagName === 'TEXTAREA' ? HTMLTextAreaElement : field.tagName === 'SELECT' ? HTMLSelectElement : HTMLInputElement
  Object.getOwnPropertyDescriptor(kind.prototype, 'value').set.call(field, text)
  field.dispatchEvent(new Event('input', { bubbles: true }))
  field.dispatchEvent(new Event('change', { bubbles: true }))
  return true
}
`

func (p *page) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatalf("%s: %v%s", what, err, p.situation())
	}
}

func (p *page) faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.errors...)
}

// whole fails when a script of the page failed, or its policy was broken.
func (p *page) whole() {
	p.t.Helper()
	for _, fault := range p.faults() {
		p.t.Errorf("the page failed: %s", fault)
	}
}

// text is all that stands on the page.
func (p *page) text() string {
	ctx, cancel := context.WithTimeout(p.ctx, 2*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

func (p *page) situation() string {
	return "\nfaults: " + strings.Join(p.faults(), "; ") + "\nthe page says:\n" + p.text()
}

// visit goes to an address. A page that has not begun after a while is loaded again
// once, as people do: seldom the browser does not come to the end of its modules. What
// it had by then is logged.
func (p *page) visit(url string) {
	p.t.Helper()
	p.do("visit "+url, chromedp.Navigate(url))
	for end := time.Now().Add(patienceBegin); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		if begun, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](`!document.querySelector('#app > .first')`)); err == nil && begun {
			return
		}
	}
	loaded := js[string](p, `document.readyState + ': ' + performance.getEntriesByType('resource').map(r => r.name.replace(/.*[/]/, '') + ' ' + Math.round(r.responseEnd)).join(', ')`)
	p.t.Logf("after %v the page has not begun, and is loaded again: %s%s", patienceBegin, loaded, p.situation())
	p.do("load again "+url, chromedp.Reload())
}

// enter signs in by a link, and goes to the table.
func (p *page) enter(g *table, token string) {
	p.t.Helper()
	p.visit(g.url + "/#token=" + token)
	p.join()
}

// join goes from the page of welcome to the table, with a seat if one is free.
func (p *page) join() {
	p.t.Helper()
	p.press("the button to join", `document.querySelector('.page-join .actions button')`)
	p.sees("live")
}

// js evaluates an expression to a value.
func js[T any](p *page, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v%s", expression, err, p.situation())
	}
	return v
}

// until waits until an expression is true.
func (p *page) until(what, expression string) {
	p.t.Helper()
	deadline, cancel := context.WithTimeout(p.ctx, patienceOnce)
	defer cancel()
	for {
		ok, err := chromedp.Run(deadline, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err == nil && ok {
			return
		}
		select {
		case <-deadline.Done():
			p.t.Fatalf("waited in vain for %s (%v)%s", what, err, p.situation())
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// sees waits until a text stands on the page.
func (p *page) sees(text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%q", text), fmt.Sprintf(`document.body.innerText.toLowerCase().includes(%s)`, quoted(strings.ToLower(text))))
}

// tap presses a button, link, chip or summary by its whole name, or by what is
// printed strong in it. In an open window only what is in the window can be
// pressed.
func (p *page) tap(name string) {
	p.t.Helper()
	p.press("something called "+name, `window.find(`+quoted(name)+`)`)
}

// submit presses the button under the form of the open window, whose name is
// often that of the button which opened the window.
func (p *page) submit(name string) {
	p.t.Helper()
	p.press("a form's button called "+name, `window.find(`+quoted(name)+`, 'dialog form button')`)
}

// tapRow presses the newest row of the log that contains a text.
func (p *page) tapRow(text string) {
	p.t.Helper()
	p.press("a row of the log with "+text, `window.row(`+quoted(text)+`)`)
}

// press waits for an element, and presses it once.
func (p *page) press(what, element string) {
	p.t.Helper()
	p.until(what, `(e => e && (e.click(), true))(`+element+`)`)
}

// fill types into the field with this label.
func (p *page) fill(label, text string) {
	p.t.Helper()
	p.until("a field called "+label, `window.fieldOf(`+quoted(label)+`) && window.put(`+quoted(label)+`, `+quoted(text)+`)`)
}

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // any string can be written
	}
	return string(raw)
}

// settled waits until nothing moves on the page any more: what it loads is
// there, and it was drawn.
func (p *page) settled() {
	p.t.Helper()
	const quiet = `new Promise(done => {
  let last = '', same = 0
  const look = () => {
    const now = document.documentElement.scrollHeight + document.body.innerText + document.querySelectorAll('canvas').length
    same = now === last ? same + 1 : 0
    last = now
    if (same > 12) done(true)
    else requestAnimationFrame(look)
  }
  look()
})`
	if _, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](quiet, chromedp.EvalAwaitPromise)); err != nil {
		p.t.Fatalf("wait until the page is quiet: %v%s", err, p.situation())
	}
}

// hidden tells the page that another tab is in front of it, or none any more.
// The browser of the tests has no front: all its tabs count as seen.
func (p *page) hidden(is bool) {
	p.t.Helper()
	js[bool](p, fmt.Sprintf(`(Object.defineProperty(document, 'hidden', { value: %t, configurable: true }), document.dispatchEvent(new Event('visibilitychange')), true)`, is))
}
