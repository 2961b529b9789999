package main

import (
	"fmt"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"tallystick/rules"
)

func conformCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "conform FILES…",
		Short: "Hold the rule systems against files of cases with right answers",
		Long: `Conform works out every case in the files with the functions that decide real
commands, prints a line for each that comes out otherwise, and then the count.
Exit code 0 when all passed, 1 when one failed, 2 when a file cannot be read or
holds no case.`,
		Example: "  tallystick conform rules/rpgamix/testdata/vectors.json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			passed, failed := 0, 0
			for _, path := range args {
				vectors, err := readVectors(path)
				if err != nil {
					return &codeError{exitUnusable, err}
				}
				for _, v := range vectors {
					if err := v.Run(library()); err != nil {
						failed++
						fmt.Fprintf(cmd.OutOrStdout(), "FAILED %s (%s): %v\n", v.ID, v.Kind, err)
						continue
					}
					passed++
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d passed, %d failed\n", passed, failed)
			if failed > 0 {
				return &codeError{exitDiverged, fmt.Errorf("%d cases failed", failed)}
			}
			return nil
		},
	}
}

func readVectors(path string) ([]rules.Vector, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var vectors []rules.Vector
	if err := json.Unmarshal(b, &vectors, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(vectors) == 0 {
		return nil, fmt.Errorf("%s holds no case", path)
	}
	return vectors, nil
}
