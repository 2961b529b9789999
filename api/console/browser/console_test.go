package browser

import "testing"

// From the admin's token to the first roll: start page, one form, session,
// character, roll.
func TestFromNothingToTheFirstRoll(t *testing.T) {
	s := serve(t)
	p := open(t)
	p.visit(s.url + "/")
	p.fill("Link or token", s.admin)
	p.tap("Sign in")
	p.fill("Name", "The <b>Iron</b> Road")
	p.tap("RPGamix")
	p.tap("Start the campaign")
	p.sees("begins")
	p.tap("To the table")
	p.sees("live")
	p.tap("Open a session")
	p.tap("Open a session")
	p.tap("Done")
	p.tap("New character")
	p.fill("Name", "Brenna")
	p.tap("Create a character")
	p.tap("Done")
	p.sees("Brenna")
	p.tap("Roll")
	p.fill("Expression", "3d6")
	p.tap("Roll dice")
	p.sees("Why this result?")
	p.whole()
}
