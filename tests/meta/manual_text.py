#!/usr/bin/env python3
"""Text becomes source of a manual page: nothing in it is a request or an escape, and lines are not too long.

    manual_text.py FOLDER_OF_GENERATE
"""
import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))
sys.dont_write_bytecode = True
import generate  # pylint: disable=wrong-import-position


class Text(unittest.TestCase):
    def test_text_is_escaped(self):
        for text, source in [(".so /etc/passwd", "\\&.so /etc/passwd\n"), ("'br", "\\(aqbr\n"), ("a \\fB b", "a \\efB b\n"),
                             ("--theta x-y", "\\-\\-theta x\\-y\n"), ('say "^~"', "say \\(dq\\(ha\\(ti\\(dq\n"), ("", ""),
                             ("  two   words ", "two words\n"), ("`a b`, c", "\\fBa b\\fP, c\n"),
                             ("one ` alone", "one \\(ga alone\n"), ("`a` ` b", "\\fBa\\fP \\(ga b\n")]:
            self.assertEqual(generate.paragraph(text), source)

    def test_no_line_is_a_request(self):
        for line in generate.paragraph("word .ab 'x .ab 'x " * 100).splitlines():
            self.assertNotIn(line[0], ".'")
            self.assertLessEqual(len(line), 80)

    def test_examples_keep_their_lines(self):
        self.assertEqual(generate.literal("  a -o b\n.c\n"), "  a \\-o b\n\\&.c\n")

    def test_synopsis_shows_what_is_replaced(self):
        self.assertEqual(generate.synopsis("plot [options] FILE... -o DIR"),
                         "plot [options] \\fIFILE\\fP... \\fB\\-o\\fP \\fIDIR\\fP\n")
        self.assertEqual(generate.synopsis("x --method A[:b=c]"), "x \\fB\\-\\-method\\fP \\fIA\\fP[:b=c]\n")


if __name__ == "__main__":
    unittest.main()
