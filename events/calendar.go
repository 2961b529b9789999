package events

import (
	"fmt"
	"sort"
	"strings"
)

// Calendar is how the days of an invented world are counted. It is a way to
// look at game time and nothing else: what falls due is never computed by it.
type Calendar struct {
	Name   string   `json:"name,omitzero" maxLength:"200"`
	Hours  int64    `json:"hours,omitzero" minimum:"1" maximum:"1000" doc:"hours a day, of 3,600 game seconds each; left out: 24"`
	Week   []string `json:"week,omitzero" maxItems:"100" minLength:"1" maxLength:"200" doc:"names of the days of the week, in order; left out: there are no weeks"`
	Months []Month  `json:"months" minItems:"1" maxItems:"100" doc:"in order"`
	Leap   []Leap   `json:"leap,omitzero" maxItems:"20" doc:"years in which a month has more days, or fewer; all that hold for a year add up"`
	Era    string   `json:"era,omitzero" maxLength:"200" doc:"stands behind the number of a year"`
	Start  Start    `json:"start,omitzero" doc:"date at which game time began"`
}

// Month is a month of a calendar.
type Month struct {
	Name string `json:"name" minLength:"1" maxLength:"200"`
	Days int64  `json:"days" minimum:"0" maximum:"10000" doc:"in an ordinary year; 0 for one that only leap years have"`
}

// Leap is a rule for leap years.
type Leap struct {
	Month string `json:"month" doc:"name of the month"`
	Every int64  `json:"every" minimum:"1" maximum:"1000000" doc:"in every so many years"`
	Year  int64  `json:"year,omitzero" minimum:"-1000000" maximum:"1000000" doc:"one of the years; left out: 0"`
	Days  int64  `json:"days,omitzero" minimum:"-100" maximum:"100" doc:"added to the month; left out: 1"`
}

// Start is the date at which game time began. What is left out is the first.
type Start struct {
	Year    *int64 `json:"year,omitzero" minimum:"-1000000" maximum:"1000000" doc:"left out: 1"`
	Month   string `json:"month,omitzero" doc:"name of the month; left out: the first"`
	Day     int64  `json:"day,omitzero" minimum:"1" maximum:"10000" doc:"left out: 1"`
	Hour    int64  `json:"hour,omitzero" minimum:"0" maximum:"999"`
	Minute  int64  `json:"minute,omitzero" minimum:"0" maximum:"59"`
	Weekday string `json:"weekday,omitzero" doc:"left out: the first of the week"`
}

// Date is a moment of the game as its calendar has it.
type Date struct {
	Year    int64  `json:"year"`
	Month   string `json:"month"`
	Day     int64  `json:"day" doc:"of the month, from 1"`
	Weekday string `json:"weekday,omitzero"`
	Hour    int64  `json:"hour"`
	Minute  int64  `json:"minute"`
	Second  int64  `json:"second"`
	Text    string `json:"text" doc:"all of it in words"`
}

// Date is the date at a game time, in seconds from the campaign's start. The
// calendar must have passed Problem.
func (c *Calendar) Date(clock int64) Date {
	day, second := c.first(), c.Start.Hour*3600+c.Start.Minute*60
	day += (second%c.day() + clock) / c.day()
	second = (second%c.day() + clock) % c.day()
	d := Date{Hour: second / 3600, Minute: second / 60 % 60, Second: second % 60}
	if len(c.Week) > 0 {
		weeks := int64(len(c.Week))
		d.Weekday = c.Week[(max(0, int64(index(c.Week, c.Start.Weekday)))+(day-c.first())%weeks)%weeks]
	}
	d.Year = c.yearOf(day)
	day -= c.before(d.Year)
	for _, m := range c.Months {
		length := c.length(m, d.Year)
		if day < length {
			d.Month, d.Day = m.Name, day+1
			break
		}
		day -= length
	}
	d.Text = fmt.Sprintf("%d %s %s, %02d:%02d", d.Day, d.Month, strings.TrimSpace(fmt.Sprint(d.Year, " ", c.Era)), d.Hour, d.Minute)
	if d.Weekday != "" {
		d.Text = d.Weekday + ", " + d.Text
	}
	return d
}

// day is how long a day is, in game seconds.
func (c *Calendar) day() int64 {
	if c.Hours == 0 {
		return 24 * 3600
	}
	return c.Hours * 3600
}

// days of a leap rule.
func (l Leap) days() int64 {
	if l.Days == 0 {
		return 1
	}
	return l.Days
}

// length of a month in a year, in days.
func (c *Calendar) length(m Month, year int64) int64 {
	days := m.Days
	for _, l := range c.Leap {
		if l.Month == m.Name && (year-l.Year)%l.Every == 0 {
			days += l.days()
		}
	}
	return days
}

// before is how many days there are from the beginning of year 0 to that of a
// year; negative for the years before it.
func (c *Calendar) before(year int64) int64 {
	var days int64
	for _, m := range c.Months {
		days += m.Days * year
	}
	for _, l := range c.Leap {
		days += l.days() * (down(year-1-l.Year, l.Every) - down(-1-l.Year, l.Every))
	}
	return days
}

// down divides and rounds down.
func down(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// yearOf is the year that a day lies in, which is not before the start.
func (c *Calendar) yearOf(day int64) int64 {
	from := c.year()
	// Every year has a day at least.
	years := sort.Search(int(day-c.before(from)+1), func(i int) bool { return c.before(from+int64(i)+1) > day })
	return from + int64(years)
}

func (c *Calendar) year() int64 {
	if c.Start.Year == nil {
		return 1
	}
	return *c.Start.Year
}

// first is the day at which game time began, from the beginning of year 0.
func (c *Calendar) first() int64 {
	day := c.before(c.year()) + max(c.Start.Day, 1) - 1
	for _, m := range c.Months {
		if m.Name == c.Start.Month || c.Start.Month == "" {
			break
		}
		day += c.length(m, c.year())
	}
	return day
}

func index(words []string, word string) int {
	for i, w := range words {
		if w == word {
			return i
		}
	}
	return -1
}

// Problem says what no calendar can be: the member that is wrong, and why. Both
// are empty for a calendar that can be read.
func (c *Calendar) Problem() (field, reason string) {
	months := map[string]int64{} // fewest days
	shortest := int64(0)
	for i, m := range c.Months {
		if _, twice := months[m.Name]; twice {
			return fmt.Sprintf("months.%d.name", i), "is that of another month already"
		}
		months[m.Name] = m.Days
		shortest += m.Days
	}
	for i, day := range c.Week {
		if index(c.Week, day) < i {
			return fmt.Sprintf("week.%d", i), "is the name of another day already"
		}
	}
	for i, l := range c.Leap {
		if _, known := months[l.Month]; !known {
			return fmt.Sprintf("leap.%d.month", i), fmt.Sprintf("is %q: no month is called so", l.Month)
		}
		if l.days() < 0 {
			months[l.Month] += l.days()
			shortest += l.days()
			if months[l.Month] < 0 {
				return fmt.Sprintf("leap.%d.days", i), fmt.Sprintf("is %d: %s can come to fewer days than none", l.Days, l.Month)
			}
		}
	}
	if shortest < 1 {
		return "months", "have no day in some years: every year must have one"
	}
	return c.startProblem()
}

func (c *Calendar) startProblem() (field, reason string) {
	s, at := c.Start, 0
	if s.Month != "" {
		names := make([]string, len(c.Months))
		for i, m := range c.Months {
			names[i] = m.Name
		}
		if at = index(names, s.Month); at < 0 {
			return "start.month", fmt.Sprintf("is %q: no month is called so", s.Month)
		}
	}
	if has := c.length(c.Months[at], c.year()); max(s.Day, 1) > has {
		return "start.day", fmt.Sprintf("is %d: %s has %d days in the year %d", max(s.Day, 1), c.Months[at].Name, has, c.year())
	}
	if s.Hour*3600 >= c.day() {
		return "start.hour", fmt.Sprintf("is %d: a day has %d hours", s.Hour, c.day()/3600)
	}
	if s.Weekday != "" && index(c.Week, s.Weekday) < 0 {
		return "start.weekday", fmt.Sprintf("is %q: no day of the week is called so", s.Weekday)
	}
	return "", ""
}
