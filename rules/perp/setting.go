package perp

import (
	"fmt"

	"tallystick/rules"
)

// Setting is what a campaign defines itself.
type Setting struct {
	Skills           []string `json:"skills,omitzero" maxItems:"500" maxLength:"200" doc:"the skills there are; none: any skill may be taken (PERP-6)"`
	ZeroLevel        []string `json:"zero_level,omitzero" maxItems:"50" maxLength:"200" doc:"skills that every beginner has at zero level, if not better (PERP-10)"`
	ZeroLevelInstead bool     `json:"zero_level_instead,omitzero" doc:"these are in place of the free ones, not in addition to them"`
	Weapons          []Weapon `json:"weapons,omitzero" maxItems:"500" doc:"weapons of this campaign, with their class and rate of fire"`
}

func (s *Setting) check() error {
	if err := checkNames("skills", s.Skills); err != nil {
		return err
	}
	if err := checkNames("zero_level", s.ZeroLevel); err != nil {
		return err
	}
	return checkWeapons(s.Weapons)
}

func checkNames(field string, names []string) error {
	for i, n := range names {
		if err := rules.CheckName(n); err != nil {
			return &rules.Invalid{Field: fmt.Sprintf("%s.%d", field, i), Reason: err.Error()}
		}
	}
	if twice := repeated(names); twice != "" {
		return &rules.Invalid{Field: field, Reason: "has " + twice + " twice"}
	}
	return nil
}
